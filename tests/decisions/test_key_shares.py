"""Addresses share the ledger's keys and the decision lines: one client cannot keep the others out."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.decisions.outcomes import NOON_MS, named, outcomes, rejected
from tests.decisions.test_ledger import drained
from tsproxy.decisions import DecisionLog
from tsproxy.decisions.ledger import KeyShares, Ledger, Tally
from tsproxy.decisions.totals import Totals

ATTACKER = "10.6.6.6"
KEYS = 200


def invented(n):
    return rejected(peer=named(f"c{n}", client_address=ATTACKER), topic=f"t{n}", now_ms=NOON_MS + n)


def good(n):
    return rejected(
        peer=named(f"good-{n}", client_address=f"10.0.0.{n}"), topic="orders", now_ms=NOON_MS + 50_000
    )


def test_a_client_with_ever_new_names_leaves_the_others_named():
    """0.6 MB a minute of one client, and no other client was named in the decision log."""
    log = DecisionLog("px", "boot", NOON_MS, max_keys=KEYS)
    booked = [*map(invented, range(10_000)), *map(good, range(50))]
    lines = [line for each in booked for line in log.book(Totals.of(each))] + [*log.stop(NOON_MS + 55_000)]
    counters = [line for line in lines if line["event"] == "counters"]
    named_in = {
        event: {line.get("client_id") for line in lines if line["event"] == event}
        for event in ("counters", "decision")
    }
    expected = {f"good-{n}" for n in range(50)}
    assert named_in["counters"] >= expected
    assert named_in["decision"] >= expected
    assert len(counters) == KEYS + 1
    assert sum(line["batches"] for line in counters) == len(booked)
    (heartbeat,) = [line for line in lines if line["event"] == "heartbeat"]
    assert heartbeat["batches_folded"] == len(booked) - KEYS
    assert heartbeat["decisions_written"] + heartbeat["decisions_suppressed"] == len(booked)


def test_the_addresses_of_one_network_count_as_one():
    log = DecisionLog("px", "boot", NOON_MS, max_keys=KEYS)
    for n in range(1_000):
        log.book(Totals.of(rejected(peer=named(f"c{n}", client_address=f"2001:db8::{n:x}"))))
    log.book(Totals.of(good(1)))
    assert "good-1" in {line.get("client_id") for line in log.stop(NOON_MS) if line["event"] == "counters"}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=200), st.integers(1, 20))
def test_an_address_with_few_keys_keeps_them_all(brought, most):
    shares, kept = KeyShares(), set()
    for address, n in brought:
        key = (address, n)
        if key in kept:
            continue
        if len(kept) >= most and (given_up := shares.give_up_for(str(address))):
            kept.remove(given_up)
        if len(kept) < most:
            shares.add(key, str(address))
            kept.add(key)
    assert len(kept) <= most
    wanted = {a: {n for b, n in brought if b == a} for a, _ in brought}
    number = Counter(address for address, _ in kept)
    for address, names in wanted.items():
        assert number[address] >= min(len(names), most // len(wanted))


@given(st.lists(outcomes(), max_size=30), st.integers(1, 4), st.data())
def test_nothing_is_lost_or_doubled_when_keys_are_given_up(booked, most, data):
    ledger = Ledger(most)
    for each in booked:
        address = data.draw(st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"]))
        ledger.book(
            Totals.of(rejected(peer=named(each.peer.client_id, client_address=address), topic=each.topic))
        )
    events = drained(ledger)
    assert sum(event["batches"] for event in events) == len(booked)
    assert sum(sum(row[1] for row in event["ahead"]) for event in events) == len(booked)


@given(st.lists(outcomes(), max_size=20), st.lists(outcomes(), max_size=20))
def test_merged_tallies_count_what_one_would_have_counted(some, others):
    one, other, whole = (Tally(first_ms=NOON_MS, last_ms=NOON_MS) for _ in range(3))
    for each in some:
        one.add(Totals.of(each))
        whole.add(Totals.of(each))
    for each in others:
        other.add(Totals.of(each))
        whole.add(Totals.of(each))
    one.merge(other)
    for name in Tally.__dataclass_fields__:
        if name not in ("_last_request", "addresses"):
            assert getattr(one, name) == getattr(whole, name), name
    assert len(one.addresses) == len(whole.addresses)
