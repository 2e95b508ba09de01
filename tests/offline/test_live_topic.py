"""`LiveTopic`: the records of a topic that is read live, judged by the judge of the session."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from tests.policy.test_checks import NEW_ROW, ODD
from tests.policy.verdicts import DAY_MS, HOUR_MS, LIMITS, NOW_MS
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.policy import CANDIDATE, Choice, Mode, TopicPolicy
from tsproxy.model.verdict import Reason, TopicLimits, UnitGuess
from tsproxy.offline.replay.tail import LiveTopic
from tsproxy.offline.replay.tally import Line
from tsproxy.policy.checks import tables
from tsproxy.policy.stream_time import StreamTimeGuard

KNOWN = TopicPolicy(limits=LIMITS)
AHEAD = NOW_MS + 2 * HOUR_MS


def counted(policy, *reads, partition=0):
    """The counts after some reads."""
    line = Line()
    live = LiveTopic("t", policy, line)
    for timestamps_ms in reads:
        live.judge(partition, timestamps_ms, NOW_MS)
    return line


def test_each_record_counts_by_itself():
    line = counted(KNOWN, [NOW_MS, AHEAD, NOW_MS * 1000, -1])
    assert (line.records, line.bad_records, line.rejected_records) == (4, 2, 2)
    assert line.reasons == {Reason.TOO_FAR_AHEAD: 2}
    assert line.rules == {"topic-limits": 2}
    assert line.units == {UnitGuess.MICROSECONDS: 1}


def test_special_timestamps_count_where_a_rule_rejects_them():
    line = counted(dataclasses.replace(KNOWN, no_timestamp=Choice.REJECT), [NOW_MS, -1])
    assert (line.records, line.bad_records, line.reasons) == (2, 1, {Reason.MISSING: 1})


def test_audit_and_the_candidate_only_count():
    audit = counted(dataclasses.replace(KNOWN, mode=Mode.AUDIT, rule="mine"), [AHEAD])
    assert (audit.bad_records, audit.counted_records, audit.counted_bad_records) == (0, 1, 1)
    assert (audit.by_candidate, audit.rules) == (0, {"mine": 1})
    strict = TopicPolicy(limits=TopicLimits(), candidate=LIMITS)
    candidate = counted(strict, [NOW_MS, AHEAD])
    assert (candidate.records, candidate.counted_records, candidate.by_candidate) == (2, 1, 1)
    assert candidate.rules == {CANDIDATE: 1}


def test_off_counts_nothing_but_records():
    line = counted(dataclasses.replace(KNOWN, mode=Mode.OFF), [AHEAD, 0])
    assert (line.records, line.bad_records, line.counted_records) == (2, 0, 0)


def test_operators_own_rules_are_asked_and_know_the_stream_time():
    guard = CustomRule("guard", StreamTimeGuard(HOUR_MS))
    policy = TopicPolicy(limits=TopicLimits(), custom_rules=(guard,))
    past = NOW_MS - 30 * DAY_MS
    line = counted(policy, [past], [past + HOUR_MS], [past + 2 * HOUR_MS])
    assert (line.records, line.bad_records) == (3, 0)
    line = counted(policy, [past], [past + DAY_MS], [past + 1])
    assert (line.records, line.bad_records, line.reasons) == (3, 1, {Reason.JUMP_AHEAD: 1})
    line = counted(policy, [NOW_MS, NOW_MS + 2 * HOUR_MS, NOW_MS + HOUR_MS])
    assert (line.records, line.bad_records, line.reasons) == (3, 1, {Reason.JUMP_AHEAD: 1})


def test_a_new_row_in_the_tables_of_checks_counts_here_too(monkeypatch):
    more = dataclasses.replace(tables.CHECKS, validator=(*tables.CHECKS.validator, NEW_ROW))
    monkeypatch.setattr(tables, "CHECKS", more)
    line = counted(KNOWN, [NOW_MS, ODD, NOW_MS + 2])
    assert (line.records, line.bad_records, line.reasons) == (3, 1, {Reason.BAD_RECORD: 1})


@given(st.lists(st.sampled_from([NOW_MS, AHEAD, -1, 0, NOW_MS - 2 * DAY_MS, NOW_MS * 1000]), max_size=6))
def test_records_that_are_read_together_count_as_they_do_one_by_one(timestamps_ms):
    policy = TopicPolicy(limits=LIMITS, candidate=TopicLimits(after_max_ms=HOUR_MS // 2), zero=Choice.REJECT)
    assert counted(policy, timestamps_ms) == counted(policy, *([one] for one in timestamps_ms))
