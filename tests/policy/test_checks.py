"""One row holds all that there is to a check, so the shortcuts cannot forget a part of it."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.policy.test_fast_path import AHEAD
from tests.policy.verdicts import DAY_MS, HOUR_MS, LIMITS, NOW_MS, judged
from tests.session.conversation import PEER
from tests.wire.batches import batch
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import LONG_MIN, ErrorCode, TimestampType
from tsproxy.model.policy import Choice, Mode, Policy, TopicPolicy
from tsproxy.model.verdict import Accept, Reason, Reject, TopicLimits
from tsproxy.policy.batch_of_times import batch_of_times
from tsproxy.policy.checks import tables
from tsproxy.policy.checks.check import Check, left_to_the_broker
from tsproxy.policy.checks.faults import reject_whole
from tsproxy.policy.explain import explain
from tsproxy.policy.fast_path import fast_path_bounds, repeatable_rejection
from tsproxy.policy.judge import decide, is_certainly_acceptable
from tsproxy.session.produce.bare_messages import rejected_by_none

KNOWN = TopicPolicy(limits=LIMITS)
ODD = NOW_MS + 1
ROWS = (
    *tables.CHECKS.partition,
    *tables.CHECKS.log,
    *tables.CHECKS.batches,
    *tables.CHECKS.conversion,
    *tables.CHECKS.validator,
)


def times_are_even(context):
    """A check that no broker makes."""
    odd = context.facts is not None and any(t % 2 for t in context.reader.read_records().timestamps_ms)
    return reject_whole(ErrorCode.INVALID_TIMESTAMP, "odd") if odd else None


NEW_ROW = Check(times_are_even, may_fail=lambda context: True, bounds=lambda policy: None)


@pytest.fixture
def new_row(monkeypatch):
    """One row more, and no other place is told."""
    more = replace(tables.CHECKS, validator=(*tables.CHECKS.validator, NEW_ROW))
    monkeypatch.setattr(tables, "CHECKS", more)


def of_times(*timestamps_ms, policy=KNOWN, attributes=0):
    return batch_of_times(timestamps_ms, "t", 3, PEER, policy=policy, now_ms=NOW_MS, attributes=attributes)


@pytest.mark.usefixtures("new_row")
def test_a_new_row_is_judged_by_and_no_shortcut_passes_what_it_rejects():
    assert is_certainly_acceptable(of_times(ODD)) is False
    assert judged(batch([ODD])).verdict.error_code is ErrorCode.INVALID_TIMESTAMP
    assert isinstance(judged(batch([NOW_MS])).verdict, Accept)


@pytest.mark.usefixtures("new_row")
def test_a_new_row_takes_its_topics_off_the_fast_path():
    assert fast_path_bounds(KNOWN) is None
    assert fast_path_bounds(TopicPolicy(limits=TopicLimits())) is None
    assert repeatable_rejection(KNOWN, AHEAD, NOW_MS, 5_000) is None
    assert rejected_by_none(KNOWN, NOW_MS) is None


@pytest.mark.parametrize("name", ["no_timestamp", "zero", "negative"])
def test_bare_messages_are_read_one_by_one_where_special_timestamps_are_rejected(name):
    assert rejected_by_none(KNOWN, NOW_MS) is not None
    assert rejected_by_none(replace(KNOWN, **{name: Choice.REJECT}), NOW_MS) is None


@pytest.mark.usefixtures("new_row")
def test_a_new_row_makes_a_batch_that_cannot_be_read_one_that_nothing_proves_acceptable():
    unlimited = TopicLimits()
    assert isinstance(judged(batch([NOW_MS])[:-1], limits=unlimited).verdict, Reject)


@pytest.mark.usefixtures("new_row")
def test_explain_judges_by_a_new_row():
    found = explain(Policy(), PEER, "t", ODD, now_ms=NOW_MS, known=LIMITS, on_kafka_4=LIMITS)
    assert found.rejection.detail == "odd"


def test_of_a_batch_that_is_only_counted_twenty_culprits_are_listed():
    audit = replace(KNOWN, mode=Mode.AUDIT)
    would = decide(of_times(*[NOW_MS + 2 * HOUR_MS] * 25, policy=audit)).would
    assert (len(would.violations), would.bad_records) == (20, 25)


WITHOUT_THE_REJECTED_VALUE = {
    "no -1": ({"no_timestamp": Choice.REJECT}, [NOW_MS]),
    "-1, and no zero": ({"zero": Choice.REJECT}, [-1, NOW_MS]),
    "-1, and no other negative one": ({"negative": Choice.REJECT}, [-1, NOW_MS]),
    "one millisecond": ({"zero": Choice.REJECT, "limits": TopicLimits()}, [1]),
}


@pytest.mark.parametrize(
    ("settings", "times"), WITHOUT_THE_REJECTED_VALUE.values(), ids=WITHOUT_THE_REJECTED_VALUE
)
def test_a_batch_without_the_value_that_a_rule_rejects_is_certainly_acceptable(settings, times):
    """So the broker makes all other checks, as it does without the rule."""
    assert is_certainly_acceptable(of_times(*times, policy=replace(KNOWN, **settings)))


BEYOND_ONE_SIDE = {
    "the other record lies on the bound ahead": [NOW_MS + HOUR_MS, NOW_MS - 2 * HOUR_MS],
    "the smallest long": [LONG_MIN],
}


@pytest.mark.parametrize("times", BEYOND_ONE_SIDE.values(), ids=BEYOND_ONE_SIDE)
def test_the_candidate_counts_a_record_behind_where_none_lies_ahead(times):
    candidate = TopicLimits(before_max_ms=HOUR_MS, after_max_ms=HOUR_MS)
    would = decide(of_times(*times, policy=TopicPolicy(limits=TopicLimits(), candidate=candidate))).would
    assert (would.reason, would.bad_records) == (Reason.TOO_OLD, 1)


class Bounded:
    """A rule of an operator's own that accepts a minute around the clock."""

    def culprits(self, timestamps_ms, context):
        return [(at, "far") for at, t in enumerate(timestamps_ms) if t != -1 and abs(t - NOW_MS) > 60_000]

    def bounds(self):
        return 60_000, 60_000


class Unbounded(Bounded):
    bounds = None


limits = st.builds(
    TopicLimits,
    timestamp_type=st.sampled_from(TimestampType),
    before_max_ms=st.sampled_from([None, 0, 1, HOUR_MS, DAY_MS, 2**63 - 2]),
    after_max_ms=st.sampled_from([None, 0, 1, HOUR_MS]),
    is_compacted=st.booleans(),
)
policies = st.builds(
    TopicPolicy,
    limits=st.none() | limits,
    no_timestamp=st.sampled_from(Choice),
    zero=st.sampled_from([Choice.ACCEPT, Choice.REJECT]),
    negative=st.sampled_from([Choice.ACCEPT, Choice.REJECT]),
    speaks_as_draft=st.booleans(),
    names_unit=st.booleans(),
    help=st.sampled_from([None, "ask"]),
    custom_rules=st.sampled_from([(), (CustomRule("b", Bounded()),), (CustomRule("u", Unbounded()),)]),
)
near = st.integers(NOW_MS - 2 * HOUR_MS, NOW_MS + 2 * HOUR_MS)
times = st.lists(
    near | st.sampled_from([-1, 0, -2, 1]) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5
)


@given(policies, times, st.sampled_from([0, 0, 1 << 3, 1 << 6]))
@example(KNOWN, [NOW_MS + HOUR_MS], 0)
@example(KNOWN, [NOW_MS + HOUR_MS + 1], 0)
@example(replace(KNOWN, zero=Choice.REJECT), [-5, 5], 0)
def test_a_check_of_the_proxy_that_may_not_fail_does_not_fail(policy, timestamps_ms, attributes):
    context = of_times(*timestamps_ms, policy=policy, attributes=attributes)
    for row in ROWS:
        if row.may_fail is not left_to_the_broker and not row.may_fail(context):
            assert row.reject(context) is None, row.reject.__name__


WIDE = 2**62


@given(policies, st.data())
def test_a_usual_batch_within_the_bounds_of_a_check_does_not_fail_it(policy, data):
    for bounds in {row.bounds(policy) for row in ROWS} - {None}:
        before = WIDE if bounds.before_max_ms is None else bounds.before_max_ms
        after = WIDE if bounds.after_max_ms is None else bounds.after_max_ms
        within = st.integers(max(NOW_MS - before, -WIDE), min(NOW_MS + after, WIDE)) | st.just(-1)
        context = of_times(*data.draw(st.lists(within, min_size=1, max_size=4)), policy=policy)
        for row in ROWS:
            if row.bounds(policy) == bounds:
                assert row.reject(context) is None, row.reject.__name__


def test_a_check_that_is_left_to_the_broker_never_keeps_a_batch_back():
    broken = of_times(NOW_MS - 48 * HOUR_MS, attributes=1 << 6)
    assert left_to_the_broker(broken) is False
