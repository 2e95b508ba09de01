"""The verdict finds each violation when it is planted, and none where there is none."""

from pathlib import Path

import pytest

from rigs.chaos.producers import Told
from rigs.chaos.stored import Log
from rigs.chaos.totals import Totals
from rigs.chaos.verdict import judge, names_a_gap, read_decisions

FIRST, SECOND = (7, 0), (7, 1)
"""A producer id with an epoch, and the same producer in its next epoch."""


def counters(client, verdict, records, seq=0, boot="one"):
    named = {"client_id": client, "verdict": verdict, "records": records, "topic": "t", "is_final": True}
    return {"event": "counters", "boot": boot, "seq": seq, **named}


def stop(seq, boot="one"):
    return {"event": "lifecycle", "kind": "stop", "boot": boot, "seq": seq}


def found(told, stored, committed=(), lines=None, *, counts_are_exact=True):
    """The violations, by name. Without `lines` the decision log says what the log holds."""
    log = Log(stored, committed)
    if lines is None:
        lines = [counters(told.client, "accepted", len(stored)), stop(1)]
    verdict = judge([told], log, lines, "t", counts_are_exact=counts_are_exact)
    return {text.partition(":")[0] for text in verdict.examples}


def client(**more):
    return Told("c", "all", sent={"c:0", "c:1"}, acknowledged={"c:0", "c:1"}, **more)


BOTH = [("c:0", FIRST), ("c:1", FIRST)]


def test_no_violation():
    assert found(client(), BOTH) == set()


def test_an_acknowledged_record_that_is_missing_is_lost():
    assert found(client(), BOTH[:1]) == {"lost"}


def test_a_record_stored_twice_by_one_epoch_is_doubled():
    assert found(client(has_forbidden=True), [*BOTH, ("c:0", FIRST)]) == {"doubled"}


def test_a_client_that_is_rejected_may_store_a_record_again_in_its_next_epoch():
    assert found(client(has_forbidden=True), [*BOTH, ("c:0", SECOND)]) == set()


def test_a_client_that_is_never_rejected_may_not():
    assert found(client(), [*BOTH, ("c:0", SECOND)]) == {"doubled_clean"}


def test_a_client_that_gave_up_other_records_may_store_a_record_again_in_its_next_epoch():
    assert found(client(given_up={FIRST}), [*BOTH, ("c:0", SECOND)]) == set()


def test_it_may_not_in_an_epoch_after_one_that_it_did_not_give_up():
    third = (7, 2)
    told = client(given_up={FIRST, third}, failed={"c:2": "_MSG_TIMED_OUT"})
    assert found(told, [*BOTH, ("c:0", SECOND), ("c:0", third)]) == {"doubled_clean"}


def test_a_record_that_is_acknowledged_once_and_stored_twice_is_doubled_though_others_were_given_up():
    assert found(client(given_up={FIRST}), [*BOTH, ("c:0", FIRST)]) == {"doubled"}


def test_a_forbidden_record_that_is_stored():
    told = client()
    told.sent.add("c:2:forbidden")
    assert found(told, [*BOTH, ("c:2:forbidden", FIRST)]) == {"forbidden"}


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
    assert found(told, BOTH, committed) == expected


def test_accepted_records_that_nobody_stored_are_invented():
    lines = [counters("c", "accepted", 3), stop(1)]
    assert found(client(), BOTH, lines=lines) == {"invented"}
    assert found(client(), BOTH, lines=lines, counts_are_exact=False) == set()


def test_stored_records_without_a_line_are_unnamed():
    lines = [counters("c", "accepted", 1), stop(1)]
    assert found(client(), BOTH, lines=lines) == {"unnamed"}


def test_a_topic_that_has_no_name_yet_is_this_one():
    lines = [
        counters("c", "accepted", 1),
        counters("c", "accepted", 1, seq=1) | {"topic": "id:AAAA"},
        stop(2),
    ]
    assert found(client(), BOTH, lines=lines) == set()


def test_records_of_another_topic_are_not_counted():
    lines = [counters("c", "accepted", 2) | {"topic": "other"}, stop(1)]
    assert found(client(), BOTH, lines=lines) == {"unnamed"}


def test_unconfirmed_records_have_a_line():
    lines = [counters("c", "accepted", 1), counters("c", "unconfirmed", 1, seq=1), stop(2)]
    assert found(client(), BOTH, lines=lines) == set()


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
    assert found(client(), BOTH, lines=lines) == set()


def test_half_a_line_of_a_killed_process_is_left_out(tmp_path: Path):
    (tmp_path / "decisions-1.jsonl").write_text('{"seq": 0}\n{"seq": 1')
    assert read_decisions(tmp_path) == [{"seq": 0}]


def test_a_total_that_falls_while_its_supervisor_lives_is_named():
    totals = Totals(None)
    for supervisor, count in ((1, 5), (1, 7), (2, 0), (2, 3), (2, 2)):
        page = f'# TYPE a_total counter\na_total{{of="x"}} {count}.0\na_gauge {-count}\n'
        totals.compare(supervisor, page)
    assert totals.fallen == ['a_total{of="x"} 3.0 -> 2.0']
