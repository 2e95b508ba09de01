"""Names of topics, clients and users: as brokers allow them, and as nobody would choose them."""

from collections.abc import Mapping
from typing import Any

from rigs.cost.genes import cluster_value

FILLED = {
    "letters": "a",
    "dashes": "-",
    "nearly": "-team7",
    "wide": "\U0001f600",
    "nul": "\0",
    "broken": "\udcff",
    "many dots": "._-",
    "commas": ",",
}
"""The characters of a name. `broken` are bytes that are no UTF-8."""


def name(kind: str, size: int, number: int) -> bytes:
    """A name of about `size` bytes, another one for each number. At most 32,767 bytes, as Kafka's strings."""
    unit = FILLED[kind].encode("utf-8", "surrogateescape")
    start = b"t%d" % number
    filled = unit * max(0, (min(size, 32_767) - len(start)) // len(unit))
    return start + filled


def topic_names(cluster: Mapping[str, Any]) -> list[str]:
    """The topics that exist."""
    return [f"t{number}" for number in range(cluster_value(cluster, "topics"))]
