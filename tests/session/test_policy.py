"""The effect of rules on a request: rejected, only counted, or not even looked at."""

import re
from dataclasses import replace
from functools import partial

import pytest

from tests.session.conversation import (
    DAY_MS,
    HOUR_MS,
    LIMITS,
    NOW_MS,
    Conversation,
    at,
    booked,
    broker,
    buried,
    client,
    relayed,
    to_broker,
    to_client,
    view_becomes,
    view_by,
    view_of,
    warned,
)
from tests.session.messages import accepted, produce, produced, rejected
from tests.wire.batches import batch
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import Culprit
from tsproxy.model.policy import (
    Choice,
    Match,
    Mode,
    NamePattern,
    Policy,
    Preset,
    Rule,
    RuleSettings,
    TimeLimit,
    Waiver,
)
from tsproxy.model.verdict import Reason, TopicLimits, UnitGuess
from tsproxy.policy.fast_path import fast_path_bounds
from tsproxy.session.effects import Emit, EmitDead, SendToClient
from tsproxy.session.policies import of_anybody

AHEAD_MS = NOW_MS + 2 * HOUR_MS
BAD = batch([NOW_MS, AHEAD_MS])
GOOD = batch([NOW_MS])

by_rule = partial(view_by, "own")

ASKED = produce({"t": {0: BAD}})
SAID = produced({"t": {0: accepted()}})


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.AUDIT])
def test_a_wrong_maximum_is_booked_unless_something_else_would_reject_the_batch(mode):
    times, reason = (
        ([NOW_MS], Reason.HEADER_MISMATCH) if mode is Mode.ENFORCE else ([AHEAD_MS], Reason.TOO_FAR_AHEAD)
    )
    asked = produce({"t": {0: batch(times, max_timestamp=max(times) + 1)}})
    conversation = Conversation(by_rule(mode=mode)) >> client(asked) << to_broker(asked)
    assert conversation >> broker(SAID) << to_client(SAID) << booked("accepted", reason=reason)


def test_audit_forwards_untouched_and_counts_what_it_would_have_rejected():
    assert (
        Conversation(by_rule(mode=Mode.AUDIT))
        >> relayed(ASKED, SAID)
        << booked(
            "accepted",
            would_reject=True,
            rule="own",
            mode=Mode.AUDIT,
            reason=Reason.TOO_FAR_AHEAD,
            culprits=(Culprit(1, AHEAD_MS),),
            bad_records=1,
            error_code=0,
        )
    )


def test_what_audit_finds_nothing_in_is_booked_as_ever():
    asked = produce({"t": {0: GOOD}})
    conversation = Conversation(by_rule(mode=Mode.AUDIT)) >> client(asked) << to_broker(asked)
    assert (
        conversation
        >> broker(SAID)
        << to_client(SAID)
        << booked("accepted", would_reject=False, rule=None, mode=None)
    )


def test_a_broker_that_rejects_what_audit_let_pass_is_told_of_by_its_own_reason():
    said = produced(
        {"t": {0: rejected((1, f"Timestamp {AHEAD_MS} of message with offset 1 is out of range."))}}
    )
    assert (
        Conversation(by_rule(mode=Mode.AUDIT))
        >> relayed(ASKED, said)
        << booked("broker_rejected", would_reject=False, rule=None)
    )


def test_one_topic_is_enforced_beside_another_in_audit():
    only_t = Match(topics=(NamePattern("t", re.compile("t")),))
    policy = Policy(rules=(Rule("lenient", only_t, RuleSettings(mode=Mode.AUDIT)),))
    asked = produce({"t": {0: BAD}, "u": {0: BAD}})
    assert (
        Conversation(view_of(policy=policy))
        >> client(asked)
        << to_broker(produce({"t": {0: BAD}}))
        << booked("rejected", topic="u", rule="topic-limits", mode=Mode.ENFORCE)
    )


def test_the_candidate_rejects_nothing_and_is_counted():
    loose = replace(LIMITS, after_max_ms=DAY_MS)
    policy = Policy(candidate=RuleSettings(after=TimeLimit(HOUR_MS)))
    facts = {
        "topic": "t",
        "partition": 0,
        "client_id": "app",
        "ahead_ms": AHEAD_MS - NOW_MS,
        "candidate_after_max_ms": HOUR_MS,
        "bad_records": 1,
        "unit_guess": None,
    }
    assert (
        Conversation(view_of(policy=policy, limits=loose))
        >> client(ASKED)
        << to_broker(ASKED)
        << warned("record_far_ahead", facts=facts)
        >> broker(SAID)
        << to_client(SAID)
        << booked("accepted", would_reject=True, rule="candidate", bad_records=1, limits=loose)
    )


def test_the_unit_of_a_timestamp_outside_the_candidate_alone_is_booked():
    asked = produce({"t": {0: batch([NOW_MS * 1_000])}})
    policy = Policy(candidate=RuleSettings(after=TimeLimit(HOUR_MS)))
    assert (
        Conversation(view_of(policy=policy, limits=TopicLimits()))
        >> client(asked)
        << to_broker(asked)
        << warned("record_far_ahead")
        >> broker(SAID)
        << to_client(SAID)
        << booked("accepted", would_reject=True, rule="candidate", unit_guess=UnitGuess.MICROSECONDS)
    )


def judged_by_candidate(asked):
    """A topic without limits, and a candidate of an hour on both sides."""
    policy = Policy(candidate=RuleSettings(before=TimeLimit(HOUR_MS), after=TimeLimit(HOUR_MS)))
    return Conversation(view_of(policy=policy, limits=TopicLimits())) >> client(asked) << to_broker(asked)


def test_of_a_batch_on_both_sides_of_the_candidate_the_records_ahead_are_counted():
    """A record that only looks like a mistake hides no record that a broker would reject, and no count mixes
    both."""
    assert (
        judged_by_candidate(produce({"t": {0: batch([NOW_MS - 2 * HOUR_MS, AHEAD_MS])}}))
        << warned("record_far_ahead")
        >> broker(SAID)
        << to_client(SAID)
        << booked("accepted", would_reject=True, bad_records=1, reason=Reason.TOO_FAR_AHEAD)
    )


def test_a_batch_whose_latest_record_is_at_the_candidates_bound_is_not_warned_of():
    assert (
        judged_by_candidate(produce({"t": {0: batch([NOW_MS - 2 * HOUR_MS, NOW_MS + HOUR_MS])}}))
        >> broker(SAID)
        << to_client(SAID)
        << booked("accepted", would_reject=True, bad_records=1, reason=Reason.TOO_OLD)
    )


@pytest.mark.parametrize("times_ms", [[NOW_MS - 2 * HOUR_MS], [NOW_MS - 2 * HOUR_MS, AHEAD_MS]])
def test_a_candidate_for_the_past_alone_warns_of_nothing_ahead(times_ms):
    policy = Policy(candidate=RuleSettings(before=TimeLimit(HOUR_MS)))
    asked = produce({"t": {0: batch(times_ms)}})
    assert (
        Conversation(view_of(policy=policy, limits=TopicLimits()))
        >> relayed(asked, SAID)
        << booked("accepted", would_reject=True, bad_records=1, reason=Reason.TOO_OLD)
    )


def test_the_candidate_says_nothing_of_a_batch_that_cannot_be_read():
    assert (
        judged_by_candidate(produce({"t": {0: batch([AHEAD_MS], records_count=2, last_offset_delta=1)}}))
        >> broker(SAID)
        << to_client(SAID)
        << booked("accepted", would_reject=False, bad_records=0)
    )


def test_what_is_rejected_by_the_limits_in_force_is_no_news_of_the_candidate():
    policy = Policy(candidate=RuleSettings(after=TimeLimit(0)))
    conversation = Conversation(view_of(policy=policy)) >> client(ASKED) << to_client(out_of_range())
    assert conversation << booked("rejected", would_reject=False, rule="topic-limits")


def test_a_waiver_lets_pass_until_it_ends_and_then_no_more():
    waiver = Waiver("backfill", Match(), NOW_MS + 1, "data-platform", "OPS-123")
    first, second = ASKED, produce({"t": {0: BAD}}, correlation_id=2)
    conversation = (
        Conversation(view_of(policy=Policy(waivers=(waiver,))))
        >> relayed(first, SAID)
        << booked("accepted", would_reject=True, waiver="backfill", mode=Mode.AUDIT)
    )
    said = out_of_range(correlation_id=2, now_ms=NOW_MS + 1)
    assert conversation >> at(NOW_MS + 1) >> client(second) << to_client(said) << booked("rejected")


def test_under_a_waiver_the_fast_path_forwards_what_needs_none_and_nothing_else_before_or_after_its_end():
    waiver = Waiver("backfill", Match(), NOW_MS + 1, "data-platform", "OPS-123")
    good = produce({"t": {0: GOOD}})
    conversation = Conversation(view_of(policy=Policy(waivers=(waiver,))), uses_fast_path=True)
    conversation >> relayed(good, SAID) << booked("accepted")
    requests, answers = conversation.session.fast_path.requests, conversation.session.fast_path.answers
    for now_ms in (NOW_MS, NOW_MS + 1):
        assert requests.forward_read(good, now_ms) == len(good)
        assert requests.forward_read(ASKED, now_ms) == 0
        assert answers.forward_read(SAID) == len(SAID)


def out_of_range(text=None, correlation_id=1, now_ms=NOW_MS):
    text = text or (
        f"Timestamp {AHEAD_MS} of message with offset 1 is out of range. "
        f"The timestamp should be within [{now_ms - DAY_MS}, {now_ms + HOUR_MS}]"
    )
    return produced({"t": {0: rejected((1, text))}}, correlation_id=correlation_id)


def test_the_drafts_rejection_is_told_in_the_drafts_words():
    """KIP-937, first draft, "Public Interfaces"."""
    text = "Timestamp of the message with offset 1 is ahead of the broker's current time."
    assert (
        Conversation(by_rule(preset=Preset.KIP_937_DRAFT))
        >> client(ASKED)
        << to_client(out_of_range(text))
        << booked("rejected", rule="own")
    )


def test_the_unit_is_told_to_the_client_where_that_is_asked_for():
    asked = produce({"t": {0: batch([NOW_MS * 1_000_000])}})
    text = (
        f"Timestamp {NOW_MS * 1_000_000} of message with offset 0 is out of range. "
        f"The timestamp should be within [{NOW_MS - DAY_MS}, {NOW_MS + HOUR_MS}] "
        "(looks like nanoseconds: divide by 1,000,000; that would be 2026-01-01T00:00:00.000Z)"
    )
    said = produced({"t": {0: rejected((0, text))}})
    assert (
        Conversation(view_of(policy=Policy(names_unit=True)))
        >> client(asked)
        << to_client(said)
        << booked("rejected", unit_guess=UnitGuess.NANOSECONDS)
    )


def test_the_operators_help_ends_the_text_of_each_culprit_and_no_other():
    asked = produce({"t": {0: batch([NOW_MS, NOW_MS * 1_000, NOW_MS * 1_000])}})
    texts = [
        (
            index,
            f"Timestamp {NOW_MS * 1_000} of message with offset {index} is out of range. "
            f"The timestamp should be within [{NOW_MS - DAY_MS}, {NOW_MS + HOUR_MS}]. Ask #data",
        )
        for index in (1, 2)
    ]
    said = produced({"t": {0: rejected(*texts)}})
    assert (
        Conversation(view_of(policy=Policy(help="Ask #data")))
        >> client(asked)
        << to_client(said)
        << booked("rejected", unit_guess=UnitGuess.MICROSECONDS)
    )


VALUES = {
    "-1": (-1, {"no_timestamp": Choice.REJECT}, Reason.MISSING),
    "0": (0, {"zero": Choice.REJECT}, Reason.TOO_OLD),
    "-5": (-5, {"negative": Choice.REJECT}, Reason.NEGATIVE),
}
UNLIMITED = replace(LIMITS, before_max_ms=None, after_max_ms=None)


@pytest.mark.parametrize(("value", "settings", "reason"), VALUES.values(), ids=VALUES)
def test_a_value_that_brokers_take_is_rejected_where_a_rule_says_so(value, settings, reason):
    asked = produce({"t": {0: batch([NOW_MS, value])}})
    conversation = Conversation(by_rule(**settings, limits=UNLIMITED)) >> client(asked)
    what = "means that there is none, which is" if value == -1 else "is"
    text = f"Timestamp {value} of message with offset 1 {what} not accepted by the proxy's rule own"
    said = produced({"t": {0: rejected((1, text))}})
    assert conversation << to_client(said) << booked("rejected", reason=reason, rule="own")


@pytest.mark.parametrize(("value", "settings", "reason"), VALUES.values(), ids=VALUES)
def test_the_other_values_are_taken_beside_it(value, settings, reason):
    asked = produce({"t": {0: batch([NOW_MS, *({-1, 0, -5} - {value})])}})
    assert Conversation(by_rule(**settings, limits=UNLIMITED)) >> client(asked) << to_broker(asked)


@pytest.mark.parametrize(
    ("times", "settings"),
    [([0, 1], {"negative": Choice.REJECT}), ([-1, -1], {"zero": Choice.REJECT, "negative": Choice.REJECT})],
    ids=["one millisecond", "no times at all"],
)
def test_what_no_rule_names_is_taken(times, settings):
    asked = produce({"t": {0: batch(times)}})
    assert Conversation(by_rule(**settings, limits=UNLIMITED)) >> client(asked) << to_broker(asked)


def test_while_the_clock_is_not_one_to_judge_by_nothing_is_rejected_and_all_is_counted():
    """From the next bytes on, and back again: what the fast path has learnt is forgotten with the view."""
    bad = produce({"t": {0: BAD}})
    suspended = view_of(policy=Policy(is_suspended=True))
    conversation = Conversation(uses_fast_path=True)

    assert (
        conversation
        >> client(bad)
        << to_client(out_of_range())
        << booked("rejected", mode=Mode.ENFORCE)
        >> view_becomes(suspended)
        >> relayed(bad, produced({"t": {0: accepted()}}))
        << booked("accepted", would_reject=True, mode=Mode.AUDIT, rule="topic-limits")
        >> view_becomes(view_of())
        >> client(bad)
        << to_client(out_of_range())
        << booked("rejected", mode=Mode.ENFORCE)
    )


@pytest.mark.parametrize("bound_ms", [2**63 - 2, 3_660_000 * DAY_MS])
def test_the_fast_path_can_learn_the_widest_limits(bound_ms):
    widest = TopicLimits(before_max_ms=bound_ms, after_max_ms=bound_ms)
    around = view_of(limits=widest, policy=Policy(clock_tolerance_ms=1))
    conversation = Conversation(around, uses_fast_path=True)
    asked = produce({"t": {0: batch([0, NOW_MS, -5])}})
    conversation >> relayed(asked, SAID)
    assert conversation << booked("accepted")


# -- Dead letters -------------------------------------------------------------------------------------


BAD_MS = NOW_MS + DAY_MS

view = partial(view_by, "keep", dead_letters=True)


def dead_of(effects):
    return [effect.batch for effect in effects if isinstance(effect, EmitDead)]


def test_a_rejected_batch_is_handed_on_as_it_came_with_what_it_was_rejected_for():
    data = batch([NOW_MS, BAD_MS, NOW_MS, BAD_MS + 1])
    [dead] = dead_of(client(produce({"t": {3: data}}))(Conversation(view())))

    assert (dead.records, dead.topic, dead.partition, dead.now_ms) == (data, "t", 3, NOW_MS)
    assert (dead.rule, dead.bad_records, dead.peer.client_id) == ("keep", 2, "app")
    assert [violation.batch_index for violation in dead.rejection.violations] == [1, 3]


def test_what_the_client_is_told_is_what_it_is_told_without():
    request = produce({"t": {0: batch([BAD_MS])}})
    told = client(request)(Conversation(view()))
    otherwise = client(request)(Conversation(view_of()))

    assert [each for each in told if isinstance(each, SendToClient)] == [
        each for each in otherwise if isinstance(each, SendToClient)
    ]


def test_beside_a_good_partition_only_the_bad_one_is_handed_on():
    good, bad = batch([NOW_MS]), batch([BAD_MS])
    assert (
        Conversation(view())
        >> client(produce({"t": {0: good, 1: bad}}))
        << to_broker(produce({"t": {0: good}}))
        << booked("rejected", partition=1, rule="keep")
        << buried(partition=1, records=bad)
    )


def test_nothing_of_it_is_kept_until_the_broker_answers():
    conversation = Conversation(view())
    client(produce({"t": {0: batch([NOW_MS]), 1: batch([BAD_MS])}}))(conversation)

    [slot] = conversation.session._state.slots.clear()
    assert [partition.dead for partition in slot.verdict.rejected] == [None]


def test_no_copies_without_a_rule_that_asks_nor_of_what_is_forwarded():
    request = produce({"t": {0: batch([BAD_MS])}})

    assert dead_of(client(request)(Conversation())) == []
    assert dead_of(client(request)(Conversation(view(mode=Mode.AUDIT)))) == []


def test_a_batch_that_only_the_broker_rejects_is_not_copied():
    """The proxy has forwarded it, and keeps no bytes of it."""
    session = Conversation(view()).session
    effects = session.client_bytes(produce({"t": {0: batch([NOW_MS])}}), NOW_MS)
    effects += session.broker_bytes(produced({"t": {0: {"error_code": ErrorCode.INVALID_TIMESTAMP}}}), NOW_MS)
    assert [each.outcome.verdict for each in effects if isinstance(each, Emit)] == ["broker_rejected"]
    assert dead_of(effects) == []


def test_a_batch_rejected_as_a_whole_is_handed_on_without_its_bytes():
    [dead] = dead_of(client(produce({"t": {0: batch([BAD_MS] * 2, crc=1)}}))(Conversation(view())))

    assert (dead.records, dead.bad_records, dead.rejection.bad_records) == (b"", 2, None)


def test_defaults_may_ask_for_everybody_and_a_rule_may_not_want_it():
    everybody = Policy(
        defaults=RuleSettings(dead_letters=True), rules=(Rule("not", Match(), RuleSettings()),)
    )
    nobody = replace(everybody, rules=(Rule("not", Match(), RuleSettings(dead_letters=False)),))
    request = produce({"t": {0: batch([BAD_MS])}})

    assert dead_of(client(request)(Conversation(replace(view_of(), policy=everybody))))
    assert not dead_of(client(request)(Conversation(replace(view_of(), policy=nobody))))


def test_the_kernel_may_pass_what_it_may_pass_without():
    """Only rejected batches are copied, and none of them ever passes."""
    kept, bare = (of_anybody(v).of("t", NOW_MS) for v in (view(), view_of()))

    assert fast_path_bounds(kept) == fast_path_bounds(bare)
    assert Reason.TOO_FAR_AHEAD in {dead.rejection.reason for dead in dead_of(passed_and_rejected())}


def passed_and_rejected():
    """With the kernel, after it has learnt the topic: a bad batch still comes to the session."""
    conversation = Conversation(view(), uses_fast_path=True)
    session, now_ms = conversation.session, NOW_MS
    for data in (batch([NOW_MS]), batch([NOW_MS])):
        session.client_bytes(produce({"t": {0: data}}), now_ms)
        session.broker_bytes(produced({"t": {0: accepted()}}), now_ms)
    return session.client_bytes(produce({"t": {0: batch([BAD_MS])}}), now_ms)
