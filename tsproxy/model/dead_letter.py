"""A rejected batch of which copies are wanted: what dead letters are made of."""

from dataclasses import dataclass, field

from tsproxy.model.outcome import Peer
from tsproxy.model.verdict import Reject


@dataclass(frozen=True, slots=True)
class DeadBatch:
    """`records` are the partition's, as they came; empty where `rejection` names none of them.

    `bad_records` counts those at fault, named or not; all where the batch is at fault as a whole
    (`rejection.bad_records` is None). `rule` is the one that rejected, `now_ms` the clock that it judged by.
    """

    now_ms: int
    peer: Peer
    topic: str
    partition: int
    rule: str
    rejection: Reject
    bad_records: int
    records: bytes = field(repr=False)
