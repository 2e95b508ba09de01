"""Formats the folders of a new cluster, with as few Java processes as possible.

Kafka's storage tool writes two files for a node. `meta.properties` names the cluster and the node.
`bootstrap.checkpoint` is the beginning of the cluster's metadata: versions of features, SCRAM credentials. It
names neither cluster nor node. So the tool runs only for the first node. Its checkpoint is copied to the
other nodes, and this module writes their `meta.properties`. A cluster without settings of its own uses the
checkpoint of an earlier cluster.
"""

import base64
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tsproxy.testing.kafka_node import KafkaNode

_FIRST_METADATA: Final = "bootstrap.checkpoint"


async def format_nodes(
    nodes: Sequence[KafkaNode], properties: Mapping[int, str], arguments: Sequence[str], kept: Path | None
) -> None:
    """Formats the nodes as one cluster, each with its `properties`. `arguments` are for the tool.

    `kept` is the path of a checkpoint that an earlier cluster of the same version may have left, and that
    this cluster leaves. It is None if this cluster has settings of its own. Raises KafkaStartError.
    """
    cluster_id = random_uuid()
    rest = list(nodes)
    made = _from_before(kept)
    if made is None:
        first = rest.pop(0)
        await first.format(cluster_id, properties[first.node_id], arguments)
        made = (first.data / _FIRST_METADATA).read_bytes()
        if kept is not None:
            _keep(made, kept)
    for node in rest:
        node.write_configuration(properties[node.node_id])
        node.data.mkdir()
        (node.data / _FIRST_METADATA).write_bytes(made)
        (node.data / "meta.properties").write_text(
            f"version=1\ncluster.id={cluster_id}\nnode.id={node.node_id}\ndirectory.id={random_uuid()}\n"
        )


def random_uuid() -> str:
    """Sixteen random bytes in the form that Kafka uses."""
    return base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")


def _from_before(kept: Path | None) -> bytes | None:
    return kept.read_bytes() if kept is not None and kept.exists() else None


def _keep(made: bytes, kept: Path) -> None:
    """Copies a file. The target is complete as soon as it exists, even if others do the same."""
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        file.write(made)
    Path(file.name).rename(kept)
