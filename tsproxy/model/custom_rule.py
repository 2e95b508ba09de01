"""Custom rules, which operators write themselves: their input, and the answer that they must give.

A rule is found by its name among the entry points of the group `tsproxy.rules`: an object with the
methods of `TimestampRule`, or a class that makes one when called without arguments. It is pure (the
answer follows from what it is given, nothing else changes) and total (any times have an answer); one
that raises is contained and handled as its `fail` says.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from tsproxy.model.verdict import Reason, TopicLimits

ENTRY_POINTS: Final = "tsproxy.rules"


@dataclass(frozen=True, slots=True)
class StreamTime:
    """The newest time of a partition, in ms, and the proxy's clock when the batch with it came."""

    latest_ms: int
    seen_at_ms: int


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The facts of a batch that a rule may use besides its timestamps. `now_ms` is the proxy's clock when
    the request was whole; `limits` are those in force, None where none are known. `client_software` as
    `name/version`. `stream_time` is there for rules that ask for it, once their process has seen a time of
    the partition.
    """

    topic: str
    partition: int
    now_ms: int
    limits: TopicLimits | None = None
    client_id: str | None = None
    principal: str | None = None
    client_address: str = ""
    client_software: str | None = None
    stream_time: StreamTime | None = None


class TimestampRule(Protocol):
    """`timestamps_ms` of a batch in its order, -1 for none. The answer names the records to reject:
    (index, the text that the client gets), ascending. Nothing named: the batch is taken.

    A rule may also have `bounds(self) -> tuple[int | None, int | None]`: how far before and after the
    clock, in ms, every time and -1 is taken, whoever sends it (None: however far). The fast
    path accepts such records without asking the rule. Without `bounds` the session reads each batch.

    An attribute `reason` names the reason under which its rejections are booked, one of the decision log's;
    without it that is `custom_rule`.

    One with an attribute `follows_stream_time` that is true is told the `stream_time` of each partition: what
    the process remembers, so that the rule need not.
    """

    def culprits(self, timestamps_ms: Sequence[int], context: RuleContext) -> Iterable[tuple[int, str]]: ...


class OnError(StrEnum):
    """The verdict on a batch for which a rule fails: accept (open) or reject (closed)."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class CustomRule:
    """A rule under the name that a file calls it by."""

    name: str
    rule: TimestampRule
    fail: OnError = OnError.CLOSED

    @property
    def follows_stream_time(self) -> bool:
        return bool(getattr(self.rule, "follows_stream_time", False))

    @property
    def reason(self) -> Reason:
        """The reason of its rejections in the decision log."""
        return Reason(getattr(self.rule, "reason", Reason.CUSTOM_RULE))


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """The answer of a rule about one batch: the records that it rejects, ascending, each with its text; or
    why it failed."""

    rule: CustomRule = field(compare=False)
    culprits: tuple[tuple[int, str], ...] = ()
    failure: str | None = None

    @property
    def rejects(self) -> bool:
        return bool(self.culprits) or (self.failure is not None and self.rule.fail is OnError.CLOSED)
