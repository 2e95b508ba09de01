"""Makes the folders of a new cluster what its brokers expect, with as few Javas as will do.

Kafka's storage tool writes two files for a node: `meta.properties`, which names the cluster and the node, and
`bootstrap.checkpoint`, with which the cluster's metadata begins: versions of features, SCRAM credentials.
The second one names nobody. So the tool is run for the first node and its work copied to the others;
where a cluster asks for nothing of its own, what was made for an earlier one is used again.
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
    """Formats the nodes as one cluster, each with its `properties`; `arguments` are more for the tool.

    `kept` is where an earlier cluster of the same version may have left what can be used again, and where
    this one leaves it; None where it is not like others. Raises KafkaStartError.
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
    """Sixteen random bytes as Kafka writes them."""
    return base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")


def _from_before(kept: Path | None) -> bytes | None:
    return kept.read_bytes() if kept is not None and kept.exists() else None


def _keep(made: bytes, kept: Path) -> None:
    """It is whole from the moment that it is there, whoever else does the same."""
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        file.write(made)
    Path(file.name).rename(kept)
