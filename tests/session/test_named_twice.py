"""A partition named twice in one request: the connection closes, and nothing is forwarded or booked.

A broker stores the last of its batches and answers once (`tests/verdicts/test_named_twice.py`).
"""

import pytest

from tests.fastpath.test_filters import Filters
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import produce_entries, produced
from tests.wire.batches import batch
from tsproxy.session.effects import CloseReason, CloseSession, Emit, SendToBroker

GOOD, OTHER, BAD = batch([NOW_MS]), batch([NOW_MS], value=b"w"), batch([0])

TWICE = {
    "both right": [("t", [(0, GOOD), (0, OTHER)])],
    "the same batch": [("t", [(0, GOOD), (0, GOOD)])],
    "one wrong": [("t", [(0, BAD), (1, GOOD), (0, GOOD)])],
    "both wrong": [("t", [(0, BAD), (0, BAD)])],
    "in two entries of its topic": [("t", [(0, GOOD)]), ("u", [(0, GOOD)]), ("t", [(1, GOOD), (0, OTHER)])],
    "among many": [("t", [(n % 40, GOOD) for n in range(41)])],
    "of a topic that nobody knows": [("unknown", [(7, GOOD), (7, GOOD)])],
}


@pytest.mark.parametrize("entries", TWICE.values(), ids=TWICE)
@pytest.mark.parametrize("version", [2, 3, 9, 12])
@pytest.mark.parametrize("acks", [-1, 0])
def test_the_connection_closes_and_nothing_goes_on(entries, version, acks):
    session = Session(PEER, view_of(), uses_fast_path=True)
    session.client_bytes(produce_entries([("t", [(0, GOOD)])]), NOW_MS)
    session.broker_bytes(produced({"t": {0: {}}}), NOW_MS)  # the fast path knows its topic from here on

    effects = session.client_bytes(produce_entries(entries, version, acks), NOW_MS)

    (closed,) = [each for each in effects if isinstance(each, CloseSession)]
    assert closed.reason is CloseReason.BAD_FRAME
    name, number = entries[0][0], 7 if entries[0][0] == "unknown" else 0
    assert f"names {name}-{number} twice" in closed.text
    assert not [each for each in effects if isinstance(each, SendToBroker | Emit)]


def passes(entries):
    """True if the fast path forwards the request; it knows the topics."""
    asked = produce_entries(entries)
    return Filters().passes(asked) == len(asked)


MANY = {
    "ascending": list(range(100)),
    "descending": list(range(100))[::-1],
    "in turn": [*range(50, 100), *range(50)],
    "few": [3, 1, 2],
}
"""Partitions, each once, in an order that a client may write them in."""


@pytest.mark.parametrize("order", MANY.values(), ids=MANY)
def test_in_whichever_order_each_once_passes_and_one_twice_does_not(order):
    once = [("t", [(n, GOOD) for n in order])]
    assert passes(once)
    for double in (order[0], order[-1], order[len(order) // 2]):
        assert not passes([("t", [*once[0][1], (double, OTHER)])])
        assert not passes([*once, ("t", [(double, OTHER)])])


def test_a_topic_named_twice_with_other_partitions_passes():
    assert passes([("t", [(0, GOOD)]), ("u", [(0, GOOD), (1, GOOD)]), ("t", [(1, GOOD)])])
    assert passes([("t", [(n, GOOD) for n in range(40)]), ("t", [(n, GOOD) for n in range(40, 80)])])
