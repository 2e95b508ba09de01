"""`RejectedBatch`: a rejected batch from which dead letters are made."""

from dataclasses import dataclass, field

from tsproxy.model.outcome import Peer
from tsproxy.model.verdict import Reject


@dataclass(frozen=True, slots=True)
class RejectedBatch:
    """A rejected batch. `records` are unchanged, and empty if `rejection` names no culprit.

    `bad_records` counts the culprits, named or not. It counts all records if the batch was rejected as a
    whole (`rejection.bad_records` is None). `rule` rejected the batch, and `now_ms` is the clock by which it
    was judged.
    """

    now_ms: int
    peer: Peer
    topic: str
    partition: int
    rule: str
    rejection: Reject
    bad_records: int
    records: bytes = field(repr=False)
