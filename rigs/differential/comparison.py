"""Two answers for the same records, made comparable, and what is left of their difference.

One part of an answer moves: the broker's clock, in texts and in log_append_time. It is checked to lie
in the time of the exchange and then named instead of shown.
"""

import re
from dataclasses import dataclass, fields
from typing import Final

from rigs.differential.generator import Part
from tsproxy.model.kafka import LONG_MAX, ErrorCode, TimestampType, wrap64
from tsproxy.model.produce import PartitionProduceResponse
from tsproxy.model.verdict import TopicLimits

SKEW_MS: Final = 2_000
"""A clock that was read in the broker may lie this far outside the time that we measured around it."""

_BOUNDS: Final = re.compile(r"\[(-?\d+), (-?\d+)\]$")


@dataclass(frozen=True, slots=True)
class Window:
    """The time of an exchange, in ms: the first and the last moment at which it was judged."""

    start_ms: int
    end_ms: int

    def holds(self, moment_ms: int) -> bool:
        return self.start_ms - SKEW_MS <= moment_ms <= self.end_ms + SKEW_MS


@dataclass(frozen=True, slots=True)
class Answer:
    """One partition's answer with nothing in it that moves.

    `base_offset` is 0 where records were stored; that they lie just there is seen when logs are read.
    """

    error_code: int
    base_offset: int
    log_append_time: str
    log_start_offset: int
    record_errors: tuple[tuple[int, str | None], ...]
    error_message: str | None
    tags: bytes


def comparable(answer: PartitionProduceResponse, topic: str, limits: TopicLimits, window: Window) -> Answer:
    """`answer` as it can be compared with its twin. Raises AssertionError where a clock went astray."""

    def text(message: str | None) -> str | None:
        return None if message is None else _without_clock(message.replace(topic, "TOPIC"), limits, window)

    is_accepted = answer.error_code == ErrorCode.NONE
    return Answer(
        error_code=answer.error_code,
        base_offset=min(answer.base_offset, 0) if is_accepted else answer.base_offset,
        log_append_time=_append_time(answer.log_append_time_ms, limits, window),
        log_start_offset=answer.log_start_offset,
        record_errors=tuple((e.batch_index, text(e.message)) for e in answer.record_errors),
        error_message=text(answer.error_message),
        tags=answer.tags,
    )


def _without_clock(text: str, limits: TopicLimits, window: Window) -> str:
    found = _BOUNDS.search(text)
    if found is None:
        return text
    before = LONG_MAX if limits.before_max_ms is None else limits.before_max_ms
    after = LONG_MAX if limits.after_max_ms is None else limits.after_max_ms
    now_ms = wrap64(int(found[1]) + before)
    assert now_ms == wrap64(int(found[2]) - after), text
    assert window.holds(now_ms), text
    return text[: found.start()] + "[now - before, now + after]"


def _append_time(moment_ms: int, limits: TopicLimits, window: Window) -> str:
    if limits.timestamp_type is TimestampType.LOG_APPEND_TIME and window.holds(moment_ms):
        return "now"
    return str(moment_ms)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The same records sent both ways, and both answers. An answer is None if the connection closed instead.

    `request` is the whole request, including `part`.
    """

    broker_version: str
    version: int
    part: Part
    direct: Answer | None
    proxied: Answer | None
    request: tuple[Part, ...] = ()

    @property
    def broker_code(self) -> int | None:
        """None if the connection closed instead of an answer."""
        return None if self.direct is None else self.direct.error_code

    @property
    def proxy_code(self) -> int | None:
        return None if self.proxied is None else self.proxied.error_code

    @property
    def is_rejected_here(self) -> bool:
        return self.proxy_code not in (None, ErrorCode.NONE)

    def differing(self) -> tuple[str, ...]:
        """The names of the fields that differ; `closed` where one side was closed and the other not."""
        if self.direct is None or self.proxied is None:
            return () if self.direct is self.proxied else ("closed",)
        direct, proxied = self.direct, self.proxied
        return tuple(f.name for f in fields(Answer) if getattr(direct, f.name) != getattr(proxied, f.name))
