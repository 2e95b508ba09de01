"""Formats the folders of a new cluster, and archives the classes of its jars: starts are quick afterwards.

Kafka's storage tool writes two files for a node. `meta.properties` names the cluster and the node. A
checkpoint is the beginning of the cluster's metadata: versions of features, SCRAM credentials. It names
neither cluster nor node. It is `bootstrap.checkpoint` up to 4.3, and the first snapshot in
`__cluster_metadata-0` since 4.4. So the tool runs only for the first node. Its checkpoint is copied to the
other nodes, and this module writes their `meta.properties`. A cluster without settings of its own uses the
checkpoint of an earlier cluster.

A broker spends half of its start on classes. Java can keep them in an archive (class data sharing), which it
writes when a process ends normally. So one broker is started and stopped for each new folder of jars. Java
ignores an archive that another Java made, or that belongs to other jars.
"""

import asyncio
import base64
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tsproxy.testing.guard import guarded_folder
from tsproxy.testing.jars import unfinished
from tsproxy.testing.java import archive_of
from tsproxy.testing.kafka_node import KafkaNode, KafkaStartError, Runtime
from tsproxy.testing.ports import free_ports
from tsproxy.testing.server_properties import ClientSecurity, NodePorts, server_properties

_DUMP_TIMEOUT_S: Final = 120
_POLL_S: Final = 0.03


async def prepare_classes(jars: Path) -> None:
    """Makes the archive for a folder of a broker's jars, unless it exists or the folder is read-only."""
    archive = await asyncio.to_thread(archive_of, jars)
    if archive.exists() or not os.access(archive.parent, os.W_OK):  # a single check
        return
    # The next cluster tries again if there is an error.
    with suppress(KafkaStartError, OSError, TimeoutError), unfinished(archive) as made:
        async with guarded_folder("tsproxy-classes-") as (folder, group), asyncio.timeout(_DUMP_TIMEOUT_S):
            runtime = Runtime(jars, "256m", group, (f"-XX:ArchiveClassesAtExit={made}",))
            ports = {1: NodePorts(*free_ports(3))}
            node = KafkaNode(1, ports[1], folder / "node-1", runtime)
            properties = server_properties(1, ports, ClientSecurity("PLAINTEXT"), node.data)
            await format_nodes([node], {1: properties}, (), None)
            node.start()
            while not node.is_up():  # noqa: ASYNC110  # only its log says that it is up
                await asyncio.sleep(_POLL_S)
            await node.stop()
        made.rename(archive)  # so the file is complete as soon as it exists


_NAMES: Final = "meta.properties"


async def format_nodes(
    nodes: Sequence[KafkaNode], properties: Mapping[int, str], arguments: Sequence[str], kept: Path | None
) -> None:
    """Formats the nodes as one cluster, each with its `properties`. `arguments` are for the tool.

    `kept` is the path of a folder that an earlier cluster of the same version may have left, and that this
    cluster leaves. It is None if this cluster has settings of its own. Raises KafkaStartError.
    """
    cluster_id = random_uuid()
    rest = list(nodes)
    if kept is not None and kept.is_dir():  # noqa: ASYNC240  # a single check
        made = kept
    else:
        first = rest.pop(0)
        await first.format(cluster_id, properties[first.node_id], arguments)
        made = first.data
        if kept is not None:
            _keep(made, kept)
    for node in rest:
        node.write_configuration(properties[node.node_id])
        _copy_checkpoint(made, node.data)
        (node.data / _NAMES).write_text(
            f"version=1\ncluster.id={cluster_id}\nnode.id={node.node_id}\ndirectory.id={random_uuid()}\n"
        )


def random_uuid() -> str:
    """Sixteen random bytes in the form that Kafka uses."""
    return base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")


def _copy_checkpoint(made: Path, target: Path) -> None:
    shutil.copytree(made, target, ignore=shutil.ignore_patterns(_NAMES))


def _keep(made: Path, kept: Path) -> None:
    """Copies the checkpoint. The target is complete as soon as it exists. If another process was faster, its
    copy stays: it holds the same."""
    with unfinished(kept) as copy:
        _copy_checkpoint(made, copy)
        with suppress(OSError):
            copy.rename(kept)
