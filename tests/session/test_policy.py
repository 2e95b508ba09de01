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
    client,
    forwarded,
    relayed,
    returned,
    to_broker,
    to_client,
    view_becomes,
    view_by,
    view_of,
    warned,
)
from tests.session.messages import accepted, out_of_range, produce, produced, rejected
from tests.wire.batches import batch
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
    conversation = Conversation(by_rule(mode=mode)) >> forwarded(asked)
    assert conversation >> returned(SAID) << booked("accepted", reason=reason)


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
    conversation = Conversation(by_rule(mode=Mode.AUDIT)) >> forwarded(asked)
    assert conversation >> returned(SAID) << booked("accepted", would_reject=False, rule=None, mode=None)


def test_a_broker_that_rejects_what_audit_let_pass_is_told_of_by_its_own_reason():
    conversation = Conversation(by_rule(mode=Mode.AUDIT)) >> relayed(ASKED, said_of_bad())
    assert conversation << booked("broker_rejected", would_reject=False, rule=None)


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


BACKFILL = Waiver("backfill", Match(), NOW_MS + 1, "data-platform", "OPS-123")


@pytest.mark.parametrize("waivers", [(), (BACKFILL,)], ids=["no waiver", "a waiver that is not needed"])
def test_the_candidate_rejects_nothing_and_is_counted(waivers):
    loose = replace(LIMITS, after_max_ms=DAY_MS)
    policy = Policy(candidate=RuleSettings(after=TimeLimit(HOUR_MS)), waivers=waivers)
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
        >> forwarded(ASKED)
        << warned("record_far_ahead", facts=facts)
        >> returned(SAID)
        << booked("accepted", would_reject=True, rule="candidate", bad_records=1, limits=loose, waiver=None)
    )


OLD_MS = NOW_MS - 2 * HOUR_MS
PAST, FUTURE = {"before": TimeLimit(HOUR_MS)}, {"after": TimeLimit(HOUR_MS)}
CANDIDATES = {
    "another unit": (FUTURE, [NOW_MS * 1_000], {"unit_guess": UnitGuess.MICROSECONDS}, True),
    # A record that only looks like a mistake hides no record that a broker would reject.
    "on both sides": (PAST | FUTURE, [OLD_MS, AHEAD_MS], {"reason": Reason.TOO_FAR_AHEAD}, True),
    "the latest at its bound": (PAST | FUTURE, [OLD_MS, NOW_MS + HOUR_MS], {"reason": Reason.TOO_OLD}, False),
    "for the past alone": (PAST, [OLD_MS], {"reason": Reason.TOO_OLD}, False),
    "for the past, and a record ahead": (PAST, [OLD_MS, AHEAD_MS], {"reason": Reason.TOO_OLD}, False),
}


@pytest.mark.parametrize(("settings", "times_ms", "facts", "is_warned"), CANDIDATES.values(), ids=CANDIDATES)
def test_the_candidate_counts_on_one_side_and_warns_of_records_ahead(settings, times_ms, facts, is_warned):
    asked = produce({"t": {0: batch(times_ms)}})
    policy = Policy(candidate=RuleSettings(**settings))
    conversation = Conversation(view_of(policy=policy, limits=TopicLimits())) >> client(asked)
    conversation = conversation << to_broker(asked) << (warned("record_far_ahead"),) * is_warned
    conversation = conversation >> returned(SAID)
    assert conversation << booked("accepted", would_reject=True, rule="candidate", bad_records=1, **facts)


def test_the_candidate_says_nothing_of_a_batch_that_cannot_be_read():
    asked = produce({"t": {0: batch([AHEAD_MS], records_count=2, last_offset_delta=1)}})
    policy = Policy(candidate=RuleSettings(**PAST, **FUTURE))
    conversation = Conversation(view_of(policy=policy, limits=TopicLimits())) >> relayed(asked, SAID)
    assert conversation << booked("accepted", would_reject=False, bad_records=0)


def test_what_is_rejected_by_the_limits_in_force_is_no_news_of_the_candidate():
    policy = Policy(candidate=RuleSettings(after=TimeLimit(0)))
    conversation = Conversation(view_of(policy=policy)) >> client(ASKED) << to_client(said_of_bad())
    assert conversation << booked("rejected", would_reject=False, rule="topic-limits")


def test_a_waiver_lets_pass_until_it_ends_and_then_no_more():
    first, second = ASKED, produce({"t": {0: BAD}}, correlation_id=2)
    conversation = (
        Conversation(view_of(policy=Policy(waivers=(BACKFILL,))))
        >> relayed(first, SAID)
        << booked("accepted", would_reject=True, waiver="backfill", mode=Mode.AUDIT)
    )
    said = said_of_bad(correlation_id=2, now_ms=NOW_MS + 1)
    assert conversation >> at(NOW_MS + 1) >> client(second) << to_client(said) << booked("rejected")


def said_of_bad(correlation_id=1, now_ms=NOW_MS):
    return produced({"t": {0: rejected(out_of_range(AHEAD_MS, 1, now_ms))}}, correlation_id=correlation_id)


MICROS, NANOS = NOW_MS * 1_000, NOW_MS * 1_000_000
OF_THE_DRAFT = "Timestamp of the message with offset 1 is ahead of the broker's current time."
"""KIP-937, first draft, "Public Interfaces"."""
IN_NANOSECONDS = " (looks like nanoseconds: divide by 1,000,000; that would be 2026-01-01T00:00:00.000Z)"
TEXTS = {
    "in the draft's words": (
        by_rule(preset=Preset.KIP_937_DRAFT),
        [NOW_MS, AHEAD_MS],
        {1: OF_THE_DRAFT},
        {"rule": "own"},
    ),
    "with the unit, if that is asked for": (
        view_of(policy=Policy(names_unit=True)),
        [NANOS],
        {0: out_of_range(NANOS)[1] + IN_NANOSECONDS},
        {"unit_guess": UnitGuess.NANOSECONDS},
    ),
    "with the operator's help for each culprit": (
        view_of(policy=Policy(help="Ask #data")),
        [NOW_MS, MICROS, MICROS],
        {at: out_of_range(MICROS, at)[1] + ". Ask #data" for at in (1, 2)},
        {"unit_guess": UnitGuess.MICROSECONDS},
    ),
}


@pytest.mark.parametrize(("view", "times_ms", "texts", "facts"), TEXTS.values(), ids=TEXTS)
def test_a_rejection_is_told(view, times_ms, texts, facts):
    said = produced({"t": {0: rejected(*texts.items())}})
    conversation = Conversation(view) >> client(produce({"t": {0: batch(times_ms)}}))
    assert conversation << to_client(said) << booked("rejected", **facts)


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


TAKEN = {
    **{f"beside {name}": ([NOW_MS, *({-1, 0, -5} - {value})], s) for name, (value, s, _) in VALUES.items()},
    "one millisecond": ([0, 1], {"negative": Choice.REJECT}),
    "no times at all": ([-1, -1], {"zero": Choice.REJECT, "negative": Choice.REJECT}),
}


@pytest.mark.parametrize(("times", "settings"), TAKEN.values(), ids=TAKEN)
def test_what_no_rule_names_is_taken(times, settings):
    asked = produce({"t": {0: batch(times)}})
    assert Conversation(by_rule(**settings, limits=UNLIMITED)) >> forwarded(asked)


def test_while_the_clock_is_not_one_to_judge_by_nothing_is_rejected_and_all_is_counted():
    """From the next bytes on, and back again: what the fast path has learnt is forgotten with the view."""
    bad = produce({"t": {0: BAD}})
    suspended = view_of(policy=Policy(is_suspended=True))
    conversation = Conversation(uses_fast_path=True)

    assert (
        conversation
        >> client(bad)
        << to_client(said_of_bad())
        << booked("rejected", mode=Mode.ENFORCE)
        >> view_becomes(suspended)
        >> relayed(bad, produced({"t": {0: accepted()}}))
        << booked("accepted", would_reject=True, mode=Mode.AUDIT, rule="topic-limits")
        >> view_becomes(view_of())
        >> client(bad)
        << to_client(said_of_bad())
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
