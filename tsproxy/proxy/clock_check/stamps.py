"""The offset of our clock to the brokers', by timestamps that brokers write anyway. Pure.

Brokers write their own time for coordinators' records (`__consumer_offsets`, `__transaction_state`) and in
topics with LogAppendTime. Each broker is queried for the newest timestamp of its partitions (ListOffsets,
MAX_TIMESTAMP), again and again. A timestamp that has grown since the last query was written between the two
queries, by the leader's clock. So the offset is known to half of the time between them, whichever clock is
ahead. A timestamp that has not grown gives no offset: it may be a week old, or come from a broker that had a
wrong clock then.

Clients can write to these topics, too, and a topic's owner can give it another timestamp type. So an offset
from here may raise a warning. It suspends enforcement only together with a step of our clock (`offsets`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tsproxy.proxy.clock_check.offsets import Offset

REPLACED_AFTER_MS: Final = 60_000
"""How long a closer estimate is kept."""
FORGOTTEN_AFTER_MS: Final = 10 * 60_000


@dataclass(frozen=True, slots=True)
class Look:
    """The time of a query: the monotonic clock before and after, the wall clock after; in ms."""

    began_ms: int
    ended_ms: int
    wall_ms: int


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest timestamp of a partition in its leader's answer; -1 if the partition has none."""

    topic: str
    partition: int
    leader: int
    timestamp_ms: int


class Stamps:
    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[Newest, int]] = {}
        """The newest timestamp of each partition, and when its query began."""
        self._kept: dict[int, tuple[Offset, int]] = {}

    def forget(self) -> None:
        """Forget all offsets, since our clock was set."""
        self._known, self._kept = {}, {}

    def record(self, look: Look, newest: Iterable[Newest]) -> None:
        known, self._known = self._known, {}
        for one in newest:
            key = (one.topic, one.partition)
            before, began_ms = known.get(key, (None, 0))
            self._known[key] = (one, look.began_ms)
            if before and before.leader == one.leader and 0 <= before.timestamp_ms < one.timestamp_ms:
                half_ms = (look.ended_ms - began_ms) / 2
                offset = Offset(look.wall_ms - half_ms - one.timestamp_ms, half_ms + 1)
                self._keep(one.leader, offset, look.ended_ms)

    def offsets(self, now_ms: int) -> Mapping[int, Offset]:
        """The offset to each broker that has written lately, by node id. `now_ms` is the monotonic clock."""
        lately = {n: kept for n, kept in self._kept.items() if now_ms - kept[1] < FORGOTTEN_AFTER_MS}
        self._kept = lately
        return {node_id: offset for node_id, (offset, _) in lately.items()}

    def _keep(self, node_id: int, offset: Offset, now_ms: int) -> None:
        kept = self._kept.get(node_id)
        if kept is None or offset.error_ms <= kept[0].error_ms or now_ms - kept[1] > REPLACED_AFTER_MS:
            self._kept[node_id] = (offset, now_ms)
