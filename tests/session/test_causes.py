"""A batch of many devices: each culprit counts under its own cause, and all sums stay what they were."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS, PEER, Session, view_by, view_of
from tests.session.messages import out_of_range, produce, produced, rejected
from tests.wire.batches import batch
from tsproxy.decisions.events import decision
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.totals import Sums, Totals, batches_and_records
from tsproxy.model.policy import Choice, Mode
from tsproxy.session.causes import LOOKED_AT
from tsproxy.session.effects import Emit

ZONE_MS, YEAR_2038_MS = NOW_MS + 19_800_000, 2_147_483_647_000
SECONDS, NANOSECONDS = NOW_MS // 1000, NOW_MS * 10**6
YEAR_1_MS = -62_135_596_800_000
AHEAD, OLD = "too_far_ahead", "too_old"


def outcome_of(times_ms, view=None):
    effects = Session(PEER, view or view_of()).client_bytes(produce({"t": {0: batch(times_ms)}}), NOW_MS)
    (outcome,) = [each.outcome for each in effects if isinstance(each, Emit)]
    return outcome


def bad_by_cause(outcome):
    parts = [*Totals.by_cause(outcome)]
    return {(each.key.reason.value, each.key.unit_guess): each.bad_records for each in parts}


CAUSES = {
    "a relay": (
        [NOW_MS] * 400 + [ZONE_MS] * 10 + [YEAR_2038_MS] * 5 + [0] * 5,
        {(AHEAD, None): 10, (AHEAD, "never_set"): 5, (OLD, "zero"): 5},
    ),
    "one cause, near the clock": ([ZONE_MS, ZONE_MS + DAY_MS, NOW_MS], {(AHEAD, None): 2}),
    "one unit": ([SECONDS, SECONDS - 86_400], {(OLD, "seconds"): 2}),
    "two units on one side": ([SECONDS, 5, SECONDS], {(OLD, "seconds"): 2, (OLD, None): 1}),
    "two units on both sides": ([NANOSECONDS + 1, SECONDS], {(AHEAD, "nanoseconds"): 1, (OLD, "seconds"): 1}),
    "nanoseconds, by whatever clock": (
        [NANOSECONDS + 7_000_000, NANOSECONDS + 1],
        {(AHEAD, "milliseconds_times_1000_twice"): 2},
    ),
    "both sides": ([NOW_MS - 2 * DAY_MS, ZONE_MS], {(OLD, None): 1, (AHEAD, None): 1}),
    "year 1, in zones": ([YEAR_1_MS, YEAR_1_MS + HOUR_MS], {(OLD, "never_set"): 2}),
    "beyond the first": (
        [SECONDS] * LOOKED_AT + [ZONE_MS] * 3 + [SECONDS],
        {(OLD, "seconds"): LOOKED_AT + 4},
    ),
}
"""The timestamps of a batch, and its culprits by reason and guess."""


@pytest.mark.parametrize(("times_ms", "causes"), CAUSES.values(), ids=CAUSES)
def test_each_culprit_counts_under_its_own_cause(times_ms, causes):
    assert bad_by_cause(outcome_of(times_ms)) == causes


def test_culprits_of_an_operators_rule_count_under_their_own_reasons():
    view = view_by("strict", zero=Choice.REJECT, negative=Choice.REJECT, no_timestamp=Choice.REJECT)
    times_ms = [0, 0, -1, -1000, ZONE_MS, NOW_MS]
    found = bad_by_cause(outcome_of(times_ms, view))
    assert sum(found.values()) == 5
    assert found["missing", None] == 1
    assert found[AHEAD, None] == 1


def test_a_batch_that_only_audit_would_reject_is_counted_by_cause_too():
    session = Session(PEER, view_by("strict", mode=Mode.AUDIT))
    session.client_bytes(produce({"t": {0: batch([SECONDS, ZONE_MS])}}), NOW_MS)
    effects = session.broker_bytes(produced({"t": {0: {}}}), NOW_MS)
    (outcome,) = [each.outcome for each in effects if isinstance(each, Emit)]
    assert bad_by_cause(outcome) == {(OLD, "seconds"): 1, (AHEAD, None): 1}


def test_the_culprits_that_a_broker_names_count_under_their_own_causes():
    session = Session(PEER, view_of())
    session.client_bytes(produce({"t": {0: batch([NOW_MS] * 4)}}), NOW_MS)
    said = {"t": {0: rejected(*(out_of_range(time_ms, at) for at, time_ms in enumerate([ZONE_MS, 0, 0])))}}
    effects = session.broker_bytes(produced(said), NOW_MS)
    (outcome,) = [each.outcome for each in effects if isinstance(each, Emit)]
    assert bad_by_cause(outcome) == {(AHEAD, None): 1, (OLD, "zero"): 2}


any_time = st.sampled_from([0, 5, SECONDS, NANOSECONDS, YEAR_1_MS, YEAR_2038_MS, ZONE_MS, NOW_MS, -1, -1000])


@given(st.lists(any_time, min_size=1, max_size=12))
def test_the_parts_add_up_to_the_whole(times_ms):
    outcomes = [
        each.outcome
        for each in Session(PEER, view_of()).client_bytes(produce({"t": {0: batch(times_ms)}}), NOW_MS)
        if isinstance(each, Emit)
    ]
    for outcome in outcomes:
        whole, parts = Totals.of(outcome), [*Totals.by_cause(outcome)]
        added = Sums(first_ms=NOW_MS, last_ms=NOW_MS)
        for part in parts:
            added.add_up(part)
            assert part.records == part.bad_records + part.collateral_records
        for name in Sums.__slots__:
            assert getattr(added, name) == getattr(whole, name)
        (bars,) = whole.ahead.values() or [0]
        assert batches_and_records(bars)[1] in (whole.records, 0)
        assert Counter(part.key for part in parts).most_common(1)[0][1] == 1


def test_an_example_names_one_culprit_of_each_cause():
    outcome = outcome_of([ZONE_MS] * 30 + [0, NOW_MS, SECONDS])
    (first, *others) = Totals.by_cause(outcome)
    event = decision(first, outcome, 0, Privacy())
    assert (event["bad_index"][:3], event["bad_ts"][:3]) == ([0, 30, 32], [ZONE_MS, 0, SECONDS])
    assert (len(event["bad_index"]), event["bad_records"], event["records"]) == (20, 32, 33)
    assert [each.example for each in others] == [None, None]
