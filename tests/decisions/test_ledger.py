"""The ledger's one promise: what is drained is what was booked, to the record."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decisions.outcomes import HOUR_MS, NOON_MS, batch, named, outcome, outcomes, rejected
from tsproxy.decisions.drift import EDGES, THRESHOLDS_MS, bucket
from tsproxy.decisions.ledger import ADDRESSES_LISTED, KEYS, Ledger, counters
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.text import instant
from tsproxy.decisions.totals import Totals
from tsproxy.model.outcome import VerdictName

ADDED_UP = ("batches", "records", "bad_records", "collateral_records", "bytes")


def drained(ledger):
    interval = {"interval_start": instant(NOON_MS), "interval_ms": 60_000}
    return [counters(key, tally, interval, Privacy()) for key, tally in ledger.take()]


def events_of(*booked, **more):
    ledger = Ledger(**more)
    for o in booked:
        ledger.book(Totals.of(o))
    return drained(ledger)


def truth(booked):
    """Sums by how a batch ended, straight from the outcomes."""
    sums = Counter()
    for o in booked:
        ending = (o.verdict, o.reason, o.error_code, o.is_final)
        is_rejected = o.verdict in (VerdictName.REJECTED, VerdictName.BROKER_REJECTED)
        collateral = max(0, o.batch.records - o.bad_records) if is_rejected else 0
        values = (1, o.batch.records, o.bad_records, collateral, o.batch.batch_bytes)
        sums.update({(ending, name): value for name, value in zip(ADDED_UP, values, strict=True)})
    return sums


def told(events):
    sums = Counter()
    for e in events:
        ending = (e["verdict"], e.get("reason"), e["error_code"], e["is_final"])
        sums.update({(ending, name): e[name] for name in ADDED_UP})
    return sums


@given(st.lists(outcomes(), max_size=40), st.integers(1, 50), st.integers(1, 10))
def test_the_sum_of_all_counters_is_the_sum_of_all_outcomes(booked, max_keys, drain_every):
    """However few keys are kept and however often it is drained: nothing is lost or counted twice."""
    ledger = Ledger(max_keys)
    events = []
    for number, o in enumerate(booked, 1):
        ledger.book(Totals.of(o))
        if number % drain_every == 0:
            events += drained(ledger)
    events += drained(ledger)
    assert told(events) == truth(booked)
    assert drained(ledger) == []


@given(st.lists(outcomes(), max_size=40), st.integers(1, 50))
def test_both_histograms_hold_every_batch_that_carries_a_time(booked, max_keys):
    timed = [o for o in booked if o.batch.min_timestamp_ms is not None]
    events = events_of(*booked, max_keys=max_keys)
    for side in ("ahead", "behind"):
        rows = [row for e in events for row in e[side]]
        assert sum(row[1] for row in rows) == len(timed)
        assert sum(row[2] for row in rows) == sum(o.batch.records for o in timed)


def test_a_batch_without_times_is_counted_but_has_no_drift():
    (event,) = events_of(outcome(batch=batch(records=4, low=None, high=None)))
    assert (event["records"], event["ahead"], event["behind"]) == (4, [], [])
    assert "drift_min_ms" not in event


def test_drift_of_a_rejected_batch_is_that_of_its_culprits():
    (event,) = events_of(rejected([NOON_MS + 2 * HOUR_MS, NOON_MS + 3 * HOUR_MS], records=50))
    assert (event["drift_min_ms"], event["drift_max_ms"]) == (2 * HOUR_MS, 3 * HOUR_MS)
    assert (event["bad_records"], event["collateral_records"]) == (2, 48)


def test_a_client_really_called_other_is_not_taken_for_the_folded_ones():
    booked = [outcome(topic="other", peer=named(name)) for name in ("other", "other-2")]
    assert [e.get("folded") for e in events_of(*booked, max_keys=1)] == [None, True]


def test_requests_are_counted_once_however_many_partitions_they_bring():
    one, other = object(), object()
    (event,) = events_of(*(outcome(request=request) for request in (one, one, one, other, other)))
    assert (event["requests"], event["batches"]) == (2, 5)


def test_addresses_are_listed_up_to_a_bound_and_the_rest_is_owned_up_to():
    peers = [named(client_address=f"10.0.0.{n}") for n in range(ADDRESSES_LISTED + 3)]
    (event,) = events_of(*(outcome(peer=peer) for peer in peers))
    assert len(event["addresses"]) == ADDRESSES_LISTED
    assert event["addresses_truncated"] is True


def test_totals_past_the_bound_of_keys_are_folded_with_all_their_batches():
    ledger = Ledger(max_keys=0)
    ledger.book(replace(Totals.of(outcome(peer=named(principal="User:app"))), batches=2))
    assert ledger.batches_folded == 2
    (event,) = drained(ledger)
    names = event["topic"], event["client_id"], event.get("principal")
    assert (names, event["folded"], event["batches"]) == (("other", "other", None), True, 2)
    assert ledger.batches_folded == 0


near_a_threshold = st.tuples(
    st.sampled_from(THRESHOLDS_MS), st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 1])
).map(lambda parts: (parts[0] + parts[1]) * parts[2])
any_drift = st.one_of(near_a_threshold, st.integers(-(10**12), 10**12), st.just(0))
drifting = st.builds(
    lambda low, high, records, kind: kind(low, high, records),
    any_drift,
    any_drift,
    st.integers(1, 1_000),
    st.sampled_from(
        [
            lambda low, high, records: outcome(batch=span(low, high, records)),
            lambda low, high, records: rejected(
                [NOON_MS + max(low, high)], batch=span(low, high, records), topic="payments"
            ),
        ]
    ),
)


def span(one_ms, other_ms, records):
    low, high = sorted((one_ms, other_ms))
    return batch(records, NOON_MS + low, NOON_MS + high)


def rejected_by(booked, before_ms, after_ms):
    """Batches and records that a broker would reject by those limits: a batch goes as a whole (KIP-937)."""
    gone = [
        o.batch
        for o in booked
        if (after_ms is not None and o.batch.max_timestamp_ms - NOON_MS > after_ms)
        or (before_ms is not None and NOON_MS - o.batch.min_timestamp_ms > before_ms)
    ]
    return len(gone), sum(each.records for each in gone)


@given(st.lists(drifting, max_size=30), st.sampled_from(THRESHOLDS_MS), st.sampled_from(THRESHOLDS_MS))
def test_what_other_limits_would_reject_is_exact_for_each_side_and_bounded_for_both(booked, before, after):
    """At every bound that people set, straight from the counters that are written."""
    events = events_of(*booked)
    beyond = {
        "ahead": [row for e in events for row in e["ahead"] if row[0] > bucket(after)],
        "behind": [row for e in events for row in e["behind"] if row[0] < -bucket(before)],
    }
    told = {side: [sum(row[n] for row in rows) for n in (1, 2)] for side, rows in beyond.items()}

    assert told["ahead"] == list(rejected_by(booked, None, after))
    assert told["behind"] == list(rejected_by(booked, before, None))
    in_all = len(booked), sum(o.batch.records for o in booked)
    for n, union in enumerate(rejected_by(booked, before, after)):
        one, other = told["ahead"][n], told["behind"][n]
        assert max(one, other) <= union <= min(one + other, in_all[n])


@pytest.mark.parametrize("clients", [1, 3, 40])
def test_the_sums_stay_exact_when_histograms_fill_the_memory(clients):
    """Few keys come first. Then each batch of them brings a new bucket."""
    ledger, booked, keys = Ledger(), [], set()
    ledger._room.ceiling = replace(KEYS, most_bytes=200_000)
    for n in range(40 * clients, 0, -1):
        peer = named(f"c{n % clients}", client_address=f"10.0.0.{n % clients}")
        drift_ms = EDGES[n // clients + 100]
        booked.append(outcome(peer=peer, batch=batch(low=NOON_MS - drift_ms, high=NOON_MS + drift_ms)))
        keys.add(ledger.book(Totals.of(booked[-1])))
        assert ledger.held_bytes <= 200_000
    taken = ledger.take()
    assert ledger.held_bytes == 0
    assert {key for key, _ in taken} <= keys
    assert any(key.folded for key, _ in taken) == (clients == 40)
    interval = {"interval_start": instant(NOON_MS), "interval_ms": 60_000}
    assert told([counters(key, tally, interval, Privacy()) for key, tally in taken]) == truth(booked)
