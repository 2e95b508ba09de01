"""The verdict finds each violation when it is planted, and none where there is none."""

from pathlib import Path

import pytest

from rigs.chaos.producers import Told
from rigs.chaos.stored import Log
from rigs.chaos.totals import Totals
from rigs.chaos.verdict import judge, names_a_gap, read_decisions

FIRST, SECOND, THIRD = (7, 0), (7, 1), (7, 2)
"""A producer id with an epoch, and the same producer in its next epochs."""


def counters(client, verdict, records, seq=0, boot="one"):
    named = {"client_id": client, "verdict": verdict, "records": records, "topic": "t", "is_final": True}
    return {"event": "counters", "boot": boot, "seq": seq, **named}


def stop(seq, boot="one"):
    return {"event": "lifecycle", "kind": "stop", "boot": boot, "seq": seq}


def violations(told, stored, committed=(), lines=None, *, counts_are_exact=True):
    """Their names. Without `lines` the decision log says what the log holds."""
    log = Log(stored, committed)
    if lines is None:
        lines = [counters(told.client, "accepted", len(stored)), stop(1)]
    verdict = judge([told], log, lines, "t", counts_are_exact=counts_are_exact)
    return {text.partition(":")[0] for text in verdict.examples}


def client(*more, **facts):
    return Told("c", "all", sent={"c:0", "c:1", *more}, acknowledged={"c:0", "c:1"}, **facts)


BOTH = [("c:0", FIRST), ("c:1", FIRST)]
AGAIN, IN_THE_NEXT, IN_THE_THIRD = (("c:0", epoch) for epoch in (FIRST, SECOND, THIRD))
FORBIDDEN = "c:2:forbidden"
STORED = {
    "as it was acknowledged": (client(), BOTH, set()),
    "one that was acknowledged is missing": (client(), BOTH[:1], {"lost"}),
    "twice by one epoch": (client(has_forbidden=True), [*BOTH, AGAIN], {"doubled"}),
    "again in the next epoch of a client that is rejected": (
        client(has_forbidden=True),
        [*BOTH, IN_THE_NEXT],
        set(),
    ),
    "again in the next epoch of one that never is": (client(), [*BOTH, IN_THE_NEXT], {"doubled_clean"}),
    "again in the next epoch of one that gave up others": (
        client(given_up={FIRST}),
        [*BOTH, IN_THE_NEXT],
        set(),
    ),
    "again in the epoch after one that it did not give up": (
        client(given_up={FIRST, THIRD}, failed={"c:2": "_MSG_TIMED_OUT"}),
        [*BOTH, IN_THE_NEXT, IN_THE_THIRD],
        {"doubled_clean"},
    ),
    "twice though acknowledged once, with others given up": (
        client(given_up={FIRST}),
        [*BOTH, AGAIN],
        {"doubled"},
    ),
    "one that is forbidden": (client(FORBIDDEN), [*BOTH, (FORBIDDEN, FIRST)], {"forbidden"}),
}


@pytest.mark.parametrize(("told", "stored", "expected"), STORED.values(), ids=STORED)
def test_records_that_are_stored(told, stored, expected):
    assert violations(told, stored) == expected


@pytest.mark.parametrize(
    ("outcome", "committed", "expected"),
    [
        ("committed", ["c:0", "c:1"], set()),
        ("committed", ["c:0"], {"torn"}),
        ("committed", [], {"torn"}),
        ("committed", ["c:0", "c:0", "c:1"], {"torn"}),
        ("aborted", [], set()),
        ("aborted", ["c:0", "c:1"], {"torn"}),
        ("unknown", [], set()),
        ("unknown", ["c:0", "c:1"], set()),
        ("unknown", ["c:1"], {"torn"}),
    ],
)
def test_transactions(outcome, committed, expected):
    told = client(transactions=[(["c:0", "c:1"], outcome)])
    assert violations(told, BOTH, committed) == expected


BOOKED = {
    "accepted, and nobody stored them": ([counters("c", "accepted", 3), stop(1)], {"invented"}),
    "stored without a line": ([counters("c", "accepted", 1), stop(1)], {"unnamed"}),
    "answered with an error that is not final": (
        [
            counters("c", "accepted", 1),
            counters("c", "broker_rejected", 1, seq=1) | {"is_final": False},
            stop(2),
        ],
        set(),
    ),
    "of a topic that has no name yet": (
        [counters("c", "accepted", 1), counters("c", "accepted", 1, seq=1) | {"topic": "id:AAAA"}, stop(2)],
        set(),
    ),
    "of another topic": ([counters("c", "accepted", 2) | {"topic": "other"}, stop(1)], {"unnamed"}),
    "unconfirmed": ([counters("c", "accepted", 1), counters("c", "unconfirmed", 1, seq=1), stop(2)], set()),
}


@pytest.mark.parametrize(("lines", "expected"), BOOKED.values(), ids=BOOKED)
def test_records_that_are_booked(lines, expected):
    assert violations(client(), BOTH, lines=lines) == expected
    assert violations(client(), BOTH, lines=lines, counts_are_exact=False) == expected - {"invented"}


@pytest.mark.parametrize(
    "lines",
    [
        [counters("c", "accepted", 1), stop(2)],
        [counters("c", "accepted", 1)],
        [counters("c", "accepted", 1) | {"lines_dropped": 1}, stop(1)],
    ],
    ids=["a number is left out", "no last line", "the writer dropped lines"],
)
def test_a_log_that_names_its_gap(lines):
    assert names_a_gap(lines)
    assert violations(client(), BOTH, lines=lines) == set()


def test_half_a_line_of_a_killed_process_is_left_out(tmp_path: Path):
    (tmp_path / "decisions-1.jsonl").write_text('{"seq": 0}\n{"seq": 1')
    assert read_decisions(tmp_path) == [{"seq": 0}]


def test_a_total_that_falls_while_its_supervisor_lives_is_named():
    totals = Totals(None)
    for supervisor, count in ((1, 5), (1, 7), (2, 0), (2, 3), (2, 2)):
        totals.compare(supervisor, {'a_total{of="x"}': float(count), "a_gauge": -count})
    assert totals.fallen == ['a_total{of="x"} 3.0 -> 2.0']
