"""The outcome of one batch of one ProduceRequest. The decision log is made of outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import overload

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.policy import Mode
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import Reason, Reject, TopicLimits, UnitGuess


class VerdictName(StrEnum):
    """The kinds of outcome. `rejected` is the proxy's; the others follow from the broker's answer."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    BROKER_REJECTED = "broker_rejected"
    REPAIRED = "repaired"
    UNCONFIRMED = "unconfirmed"
    """The proxy does not know the outcome: the batch was forwarded with acks=0, or the connection ended
    first, or the answer was an error after which only some clients send the records again by themselves
    (`sent_again`)."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The known facts about the client of a connection."""

    listener: str
    client_address: str
    client_port: int
    client_id: str | None = None
    principal: str | None = None
    client_software: str | None = None
    """`name/version` from ApiVersions v3+ (KIP-511)."""


@dataclass(frozen=True, slots=True)
class OldRequest:
    """A request in a version that brokers of Kafka 4 do not take (KIP-896). `api` is Kafka's name for it. The
    client id of `peer` is that of the request."""

    peer: Peer
    api: str
    version: int


@dataclass(frozen=True, slots=True)
class Culprit:
    """One record that was rejected: its position in the batch, and its timestamp in ms if that is known."""

    batch_index: int
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True, eq=False)
class CulpritColumns(Sequence[Culprit]):
    """Culprits that all have a timestamp, as columns. None is -1, which is no timestamp (KIP-32)."""

    positions: Sequence[int]
    timestamps_ms: Sequence[int]
    span_ms: tuple[int, int]
    """The lowest and the highest timestamp. There is at least one culprit."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, index: int) -> Culprit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Culprit]: ...
    def __getitem__(self, index: int | slice) -> Culprit | Sequence[Culprit]:
        if isinstance(index, slice):
            return tuple(map(Culprit, self.positions[index], self.timestamps_ms[index]))
        return Culprit(self.positions[index], self.timestamps_ms[index])


@dataclass(frozen=True, slots=True)
class Cause:
    """One of several mistakes in a batch: `bad_records` of its culprits, and the first of them. The times
    are those of these culprits, in ms; None if none has one."""

    reason: Reason | None
    unit_guess: UnitGuess | None
    bad_records: int
    first: Culprit
    lowest_ms: int | None
    highest_ms: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One batch for one partition, its client, and its outcome.

    `now_ms` is the proxy's clock when the request was complete. The batch was judged by this time. `culprits`
    is empty and `bad_records` is 0 for a batch that was `accepted`, or is `unconfirmed` without an error.
    With `would_reject`, however, a rule in audit mode or the candidate limit would have rejected the batch:
    rule, reason, unit and culprits say why. `mode` and `waiver` are then those that held for the batch. If
    the batch as a whole was at fault, `bad_records` counts all its records. `is_final` is False if the
    producer sends the same records again by itself (`sent_again`), so that totals can distinguish rejections
    from repetitions.
    """

    now_ms: int
    peer: Peer
    api_version: int
    correlation_id: int
    acks: int
    transactional_id: str | None
    topic: str
    partition: int
    batch: BatchFacts
    verdict: VerdictName
    limits: TopicLimits | None
    """None if no limits were known. Then only the broker judged the range of timestamps."""
    limits_unknown: bool = False
    """True if the topic's own limits were to be applied and were not known."""
    rule: str | None = None
    mode: Mode | None = None
    """The mode of the rule that decided; None if no rule had to decide."""
    waiver: str | None = None
    would_reject: bool = False
    reason: Reason | None = None
    unit_guess: UnitGuess | None = None
    error_code: int = ErrorCode.NONE
    error_message: str | None = None
    culprits: Sequence[Culprit] = ()
    bad_records: int = 0
    causes: Sequence[Cause] = ()
    """All causes, that of the first culprit first; empty if there is one. Their `bad_records` add up."""
    is_final: bool = True
    request: object = field(default_factory=object, repr=False, compare=False)
    """One object for all batches of a request. A correlation id does not distinguish requests, since a client
    may send the same id twice."""


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
