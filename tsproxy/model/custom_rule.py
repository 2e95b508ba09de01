"""Custom rules, which operators write themselves: their input, and the answer that they must give.

A rule is found by its name among the entry points of the group `tsproxy.rules`. It is an object with the
methods of `TimestampRule`, or a class that makes one when it is called without arguments. A rule must be pure
(its answer depends only on its input, and it changes nothing) and total (it has an answer for any
timestamps). If it raises an error, its `fail` decides about the batch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from tsproxy.model.verdict import Reason, TopicLimits

ENTRY_POINTS: Final = "tsproxy.rules"
ENDS_PROCESS: Final = (KeyboardInterrupt,)
"""The only errors that pass through when code of a rule raises them. All others are the rule's failure: its
module may call sys.exit(), and code in Rust panics with a BaseException."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The facts of a batch that a rule may use besides its timestamps. `now_ms` is the proxy's clock when the
    request was complete. `limits` are those in force, None if they are not known. `client_software` is
    `name/version`."""

    topic: str
    partition: int
    now_ms: int
    limits: TopicLimits | None = None
    client_id: str | None = None
    principal: str | None = None
    client_address: str = ""
    client_software: str | None = None


class TimestampRule(Protocol):
    """A custom rule, as an operator writes it.

    `culprits` gets the timestamps of a batch in its order, with -1 for none. It returns the records to reject
    in ascending order: (index, the text that the client gets). If it returns none, the rule accepts the
    batch.

    A rule may also have `bounds(self) -> tuple[int | None, int | None]`. It returns how far before and after
    the clock, in ms, the rule accepts every timestamp and -1, of any client, topic and partition. None is
    unlimited. The fast path accepts such records without calling the rule. Without `bounds` the session reads
    each batch.

    The attribute `reason` is the reason of the rule's rejections in the decision log, `custom_rule` by
    default.
    """

    def culprits(self, timestamps_ms: Sequence[int], context: RuleContext) -> Iterable[tuple[int, str]]: ...


class OnError(StrEnum):
    """The verdict on a batch for which a rule fails: accept (open) or reject (closed)."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class CustomRule:
    """A rule, and its name in the configuration."""

    name: str
    rule: TimestampRule
    fail: OnError = OnError.CLOSED

    @property
    def reason(self) -> Reason:
        return Reason(getattr(self.rule, "reason", Reason.CUSTOM_RULE))


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """The answer of a rule about one batch: the records that it rejects in ascending order, each with its
    text, or the reason why the rule failed."""

    rule: CustomRule = field(compare=False)
    culprits: tuple[tuple[int, str], ...] = ()
    reason: Reason = Reason.CUSTOM_RULE
    failure: str | None = None

    @property
    def rejects(self) -> bool:
        return bool(self.culprits) or (self.failure is not None and self.rule.fail is OnError.CLOSED)
