"""Formats the folders of a new cluster, with as few Java processes as possible.

Kafka's storage tool writes two files for a node. `meta.properties` names the cluster and the node. A
checkpoint is the beginning of the cluster's metadata: versions of features, SCRAM credentials. It names
neither cluster nor node. It is `bootstrap.checkpoint` up to 4.3, and the first snapshot in
`__cluster_metadata-0` since 4.4. So the tool runs only for the first node. Its checkpoint is copied to the
other nodes, and this module writes their `meta.properties`. A cluster without settings of its own uses the
checkpoint of an earlier cluster.
"""

import base64
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tsproxy.testing.kafka_node import KafkaNode
from tsproxy.testing.unfinished import unfinished

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
