"""The explanation of one timestamp: what the candidate would say, and what a custom rule gets to see."""

import re
from dataclasses import replace
from struct import unpack_from

from hypothesis import example, given
from hypothesis import strategies as st

from tests.policy.verdicts import DAY_MS, HOUR_MS, LIMITS, NOW_MS, judged, judged_by
from tests.session.conversation import PEER
from tests.wire.batches import batch
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.policy import (
    Choice,
    LimitsFrom,
    Match,
    Mode,
    NamePattern,
    OnViolation,
    Policy,
    Preset,
    Rule,
    RuleSettings,
    TimeLimit,
    Waiver,
)
from tsproxy.model.records import DELETE_HORIZON
from tsproxy.model.verdict import Reject, TopicLimits
from tsproxy.model.view import View
from tsproxy.offline.explain import as_text
from tsproxy.policy.explain import ANY_LIMITS, explain

CANDIDATE = RuleSettings(after=TimeLimit(1000))


def explained(timestamp_ms, policy, **more):
    return explain(policy, PEER, "t", timestamp_ms, now_ms=NOW_MS, known=LIMITS, on_kafka_4=LIMITS, **more)


def test_where_nothing_is_judged_nothing_would_be_rejected():
    found = explained(NOW_MS + 2 * HOUR_MS, Policy(mode=Mode.OFF, candidate=CANDIDATE))
    assert (found.rejection, found.candidate, found.is_forwarded) == (None, None, True)
    assert not found.is_candidate_asked
    assert found.repaired_ms is None


def test_the_waiver_is_the_topics():
    waivers = [
        Waiver(text, Match(topics=(NamePattern(text, re.compile(text)),)), NOW_MS + 1, "platform", "OPS-1")
        for text in ("other", "t")
    ]
    found = explained(NOW_MS + 2 * HOUR_MS, Policy(waivers=tuple(waivers)))
    assert (found.waiver, found.is_forwarded) == (waivers[1], True)


class NamesItsPartition:
    """A rule of an operator's own."""

    def culprits(self, timestamps_ms, context):
        return [(0, f"{context.topic}-{context.partition}")]


def test_a_custom_rule_sees_partition_0():
    rule = RuleSettings(custom_rules=(CustomRule("own", NamesItsPartition()),))
    found = explained(NOW_MS, Policy(rules=(Rule("own", Match(), rule),)))
    assert [each.message for each in found.rejection.violations] == ["t-0"]


class RejectsSome:
    """A rule that rejects a record without a timestamp, or also the time that a stamp gives."""

    def __init__(self, *times_ms):
        self.times_ms = times_ms

    def culprits(self, timestamps_ms, context):
        return [(i, f"not {t}") for i, t in enumerate(timestamps_ms) if t in self.times_ms]


OWN = [(), (CustomRule("none", RejectsSome(-1)),), (CustomRule("now", RejectsSome(NOW_MS)),)]
STAMPS = RuleSettings(on_violation=OnViolation.STAMP)
MISSING = RuleSettings(no_timestamp=Choice.STAMP)
limits = st.none() | st.builds(TimeLimit, st.sampled_from([None, 0, 1, HOUR_MS, DAY_MS]))
either = st.none() | st.sampled_from([Choice.ACCEPT, Choice.REJECT])
settings = st.builds(
    RuleSettings,
    mode=st.none() | st.sampled_from(Mode),
    before=limits,
    after=limits,
    no_timestamp=st.none() | st.sampled_from(Choice),
    zero=either,
    negative=either,
    on_violation=st.none() | st.sampled_from(OnViolation),
    keep_both_times=st.none() | st.booleans(),
    extended_timestamps=st.none() | st.booleans(),
    custom_rules=st.sampled_from(OWN),
)
near = st.builds(
    lambda aside_ms, by_ms: NOW_MS + aside_ms + by_ms,
    st.sampled_from([0, HOUR_MS, -HOUR_MS, DAY_MS, -DAY_MS]),
    st.integers(-1, 1),
)
odd = st.sampled_from([-1, 0, 1, -2, LONG_MIN, LONG_MAX, NOW_MS // 1000, NOW_MS * 1000, NOW_MS * 10**6])


@given(settings, near | odd, st.booleans())
@example(STAMPS, NOW_MS + 2 * HOUR_MS, True)
@example(STAMPS, NOW_MS + 2 * HOUR_MS, False)
@example(RuleSettings(no_timestamp=Choice.STAMP, custom_rules=OWN[1]), -1, False)
@example(RuleSettings(no_timestamp=Choice.STAMP, custom_rules=OWN[2]), -1, False)
@example(RuleSettings(on_violation=OnViolation.STAMP, custom_rules=OWN[2]), 5, False)
@example(RuleSettings(extended_timestamps=True), LONG_MIN, True)
def test_explain_says_what_the_session_does_with_a_batch_of_that_record(settings, timestamp_ms, has_bit_6):
    policy = Policy(rules=(Rule("own", Match(), settings),))
    told = explained(timestamp_ms, policy, has_bit_6=has_bit_6)
    data = batch([timestamp_ms], attributes=DELETE_HORIZON if has_bit_6 else 0)
    done = judged(data, policy=policy)
    rejection = done.verdict if isinstance(done.verdict, Reject) else done.would
    written = done.rewritten if done.rewritten and done.rewritten.repair else None
    assert told.is_forwarded is not isinstance(done.verdict, Reject)
    assert told.repaired_ms == (written and unpack_from(">q", written.records, 27)[0])
    if written is None:
        assert _as_told(told.rejection or told.candidate) == _as_told(rejection)


sides = st.none() | st.sampled_from([0, 1, HOUR_MS, DAY_MS])
policies = st.builds(
    Policy,
    mode=st.sampled_from(Mode),
    limits_from=st.sampled_from(LimitsFrom),
    clock_tolerance_ms=st.sampled_from([0, 1]),
    defaults=st.builds(RuleSettings, before=limits, after=limits),
    rules=st.builds(
        lambda settings, preset: (Rule("own", Match(), replace(settings, preset=preset)),),
        settings,
        st.none() | st.sampled_from(Preset),
    ),
)


@given(
    policies,
    near | odd,
    st.builds(TopicLimits, before_max_ms=sides, after_max_ms=sides),
    st.sets(st.sampled_from(["before_max_ms", "after_max_ms"])),
)
@example(
    Policy(rules=(Rule("own", Match(), RuleSettings(before=TimeLimit(DAY_MS))),)),
    NOW_MS + 2 * HOUR_MS,
    TopicLimits(after_max_ms=HOUR_MS),
    set(),
)
@example(Policy(), NOW_MS + 2 * HOUR_MS, TopicLimits(after_max_ms=HOUR_MS), {"before_max_ms"})
def test_explain_is_not_certain_of_what_the_limits_of_the_topic_may_change(policy, time_ms, real, given):
    """The session knows them. Explain knows those that are `given`."""
    given = {side: getattr(real, side) for side in given}
    known, *others = (replace(each, **given) for each in (TopicLimits(), *ANY_LIMITS))
    told, *by_others = (
        explain(policy, PEER, "t", time_ms, now_ms=NOW_MS, known=each, on_kafka_4=each)
        for each in (known if given else None, *others)
    )
    told = replace(told, by_others=tuple(by_others))
    view = View(topics={"t": real}, topics_on_kafka_4={"t": real}, policy=policy)
    (done,) = judged_by(view, batch([time_ms]))
    written = done.rewritten if done.rewritten and done.rewritten.repair else None
    if told.is_certain:
        assert told.is_forwarded is not isinstance(done.verdict, Reject)
        assert told.repaired_ms == (written and unpack_from(">q", written.records, 27)[0])
    said = as_text(told, time_ms, NOW_MS)
    if isinstance(done.verdict, Reject):
        assert not re.search("^fate .*forwarded[^,]*$", said, re.M)
    if not told.unknown_limits and isinstance(done.verdict, Reject):  # else another check may come first
        assert _as_told(told.rejection) == _as_told(done.verdict)


def _as_told(rejection):
    if rejection is None:
        return None
    texts = [each.message for each in rejection.violations] or [rejection.error_message]
    return rejection.error_code, rejection.reason, texts
