"""For authors of custom rules: synthetic batches, a fake clock, and a check in one line.

from tsproxy.testing.rules import FakeClock, batch_times, check_rule, rejected

def test_my_rule():
    check_rule(MyRule())
    clock = FakeClock()
    assert rejected(MyRule(), batch_times(clock, 0, -5_000, None), clock) == {}
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from statistics import median
from timeit import timeit
from typing import Any, Final

from tsproxy.model.custom_rule import ENDS_PROCESS, CustomRule, RuleAnswer, RuleContext, TimestampRule
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, NO_TIMESTAMP
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.custom_rules import consult, declared_bounds

NOW_MS: Final = 1_767_225_600_000
"""The time of the fake clock: 2026-01-01T00:00:00Z."""

SLOW_S: Final = 0.01
"""A rule that needs this long for at most 50 records is too slow. It is ten times what a proxy warns about,
so that a busy machine fails no good rule."""

_EDGES: Final = (NO_TIMESTAMP, 0, 1, -2, LONG_MIN, LONG_MAX, NOW_MS, NOW_MS // 1000, NOW_MS * 1_000_000)
_SPANS_MS: Final = (0, 1, 1_000, 3_600_000, 86_400_000, 400 * 86_400_000)
_RECORDS: Final = (1, 1, 2, 5, 50)
"""The numbers of records of a batch: mostly few, as clients send them."""


class FakeClock:
    """A clock that stands at NOW_MS until a test moves it."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.now_ms = now_ms

    def advance(self, by_ms: int) -> None:
        """Moves the clock; backwards if `by_ms` is below 0."""
        self.now_ms += by_ms


def batch_times(clock: FakeClock, *offsets_ms: int | None) -> tuple[int, ...]:
    """The timestamps of a batch, as distances from the clock; None for a record without one."""
    return tuple(NO_TIMESTAMP if offset is None else clock.now_ms + offset for offset in offsets_ms)


def rejected(
    rule: TimestampRule, timestamps_ms: Sequence[int], clock: FakeClock, **facts: Any
) -> dict[int, str]:
    """The records that the rule rejects, by position, each with its text. `facts` are the context's.

    Raises AssertionError if the rule raises an error, or returns a forbidden result.
    """
    context = rule_context(now_ms=clock.now_ms, **facts)
    answer = consult(CustomRule("tested", rule), timestamps_ms, context)
    _assert_no_failure(answer, timestamps_ms, context)
    return dict(answer.culprits)


def rule_context(**facts: Any) -> RuleContext:
    """A context at NOW_MS for partition 0 of `orders`. `facts` replace its defaults."""
    whole = RuleContext(
        topic="orders",
        partition=0,
        now_ms=NOW_MS,
        limits=TopicLimits(),
        client_id="app",
        principal="User:app",
        client_address="192.0.2.1",
        client_software="apache-kafka-java/4.0.0",
    )
    return replace(whole, **facts)


def check_rule(rule: TimestampRule, batches: int = 1_000, seed: int = 2026) -> None:
    """Asserts that a rule fulfils the contract of rules.

    It raises no error for any timestamps. It names existing records, in order, each with a text. It returns
    the same for the same batch again, and so does a copy of the rule. It accepts all timestamps that it
    declares as always accepted (`bounds`), of any client, topic and partition. It is quick.
    """
    pick = Random(seed)  # noqa: S311  # not secret: the same batches every time
    custom, untouched = CustomRule("checked", rule), copy.deepcopy(rule)
    calls = [(_times(pick), _context(pick)) for _ in range(batches)]
    median_s = median(timeit(partial(consult, custom, *call), number=1) for call in calls[:21])
    assert median_s < SLOW_S, f"takes {median_s * 1000:.0f} ms a batch: all clients of a proxy wait that long"
    answers = [consult(custom, times, context) for times, context in calls]
    for (times, context), answer in zip(calls, answers, strict=True):
        _assert_no_failure(answer, times, context)
    _assert_same(reversed(calls), reversed(answers), custom, "another answer for the same batch")
    copied = CustomRule("checked", untouched)
    _assert_same(calls[-10:], answers[-10:], copied, "another answer from a copy")
    try:
        bounds = declared_bounds(rule)
    except ENDS_PROCESS:
        raise
    except BaseException as error:
        raise AssertionError(f"its bounds: {type(error).__name__}: {error}") from error
    if bounds is not None:
        _check_bounds(custom, bounds, pick)


def _assert_no_failure(answer: RuleAnswer, times: Sequence[int], context: RuleContext) -> None:
    """Raises AssertionError if the rule failed. Its cause is the rule's own error, with all lines of code."""
    if answer.failure is None:
        return
    complaint = AssertionError(f"{answer.failure} for {times}")
    try:
        list(answer.rule.rule.culprits(tuple(times), context))
    except ENDS_PROCESS:
        raise
    except BaseException as error:
        raise complaint from error
    raise complaint


def _assert_same(
    calls: Iterable[tuple[Sequence[int], RuleContext]],
    answers: Iterable[RuleAnswer],
    rule: CustomRule,
    complaint: str,
) -> None:
    """Asserts batch by batch: pytest takes minutes to show how two lists of a thousand answers differ."""
    for (times, context), answer in zip(calls, answers, strict=True):
        again = consult(rule, times, context)
        if again != answer:
            raise AssertionError(
                f"{complaint}: a rule must remember nothing. The timestamps {list(times)}"
                f" gave {answer.culprits}, then {again.failure or again.culprits}"
            )


def _check_bounds(rule: CustomRule, bounds: tuple[int | None, int | None], pick: Random) -> None:
    before_ms, after_ms = (LONG_MAX if bound is None else bound for bound in bounds)
    for _ in range(1_000):
        context = _context(pick, now_ms=NOW_MS + pick.randint(0, 400 * 86_400_000))
        lowest, highest = context.now_ms - before_ms, min(context.now_ms + after_ms, LONG_MAX)
        edges = (lowest, highest, context.now_ms, NO_TIMESTAMP, pick.randint(lowest, highest))
        times = [pick.choice(edges) for _ in range(pick.choice(_RECORDS))]
        answer = consult(rule, times, context)
        given = answer.failure or answer.culprits
        assert not given, (
            f"{times} lie within its own bounds {bounds}, which hold for any client, topic and partition."
            f" It gave {given} for {context}"
        )


def _context(pick: Random, **facts: Any) -> RuleContext:
    """Any client, topic and partition. A client may lack a name, and limits may not be known."""
    limits = (None, TopicLimits(), TopicLimits(before_max_ms=1_000, after_max_ms=1_000))
    return rule_context(
        topic=pick.choice(("orders", "payments.eu")),
        partition=pick.choice((0, 1, 4_095)),
        limits=pick.choice(limits),
        client_id=pick.choice((None, "app")),
        principal=pick.choice((None, "User:app")),
        client_address=pick.choice(("192.0.2.1", "2001:db8::1")),
        client_software=pick.choice((None, "apache-kafka-java/4.0.0")),
        **facts,
    )


def _times(pick: Random) -> Sequence[int]:
    """The timestamps of a batch: mostly near the clock, some at the limits of a long."""

    def time_ms() -> int:
        if pick.random() < 0.2:
            return pick.choice(_EDGES)
        return NOW_MS + pick.choice((-1, 1)) * pick.randint(0, pick.choice(_SPANS_MS))

    return [time_ms() for _ in range(pick.choice(_RECORDS))]
