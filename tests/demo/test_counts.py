"""The readers of the four places, on the smallest inputs that could mislead them."""

import json
from pathlib import Path

import pytest

from deploy.demo import counts
from deploy.demo.data import Event
from deploy.demo.plan import SYNTHETIC_TOPIC, shares
from deploy.demo.producers import Receipt
from deploy.demo.proof import Booked


def counters(verdict: str, records: int, *, is_final: bool = True, bad: int = 0, day: str = "2026-11-20"):
    return {
        "ts": f"{day}T10:00:00.000Z",
        "event": "counters",
        "topic": "t",
        "client_id": "c",
        "verdict": verdict,
        "is_final": is_final,
        "records": records,
        "bad_records": bad,
        "collateral_records": records - bad if bad else 0,
    }


def write(folder: Path, name: str, *events: dict) -> None:
    (folder / name).write_text("".join(json.dumps(event) + "\n" for event in events))


def test_counters_of_all_files_are_added_up_by_topic_and_client(tmp_path: Path):
    write(tmp_path, "decisions-1.jsonl", counters("accepted", 5), counters("rejected", 3, bad=1))
    write(tmp_path, "decisions-2.jsonl", counters("accepted", 2), counters("broker_rejected", 1, bad=1))
    assert counts.read_decision_log(tmp_path).booked == {
        ("t", "c"): Booked(accepted=7, rejected=3, broker_rejected=1, culprits=2, collateral=2)
    }


def test_a_repetition_counts_for_nothing_but_itself(tmp_path: Path):
    """Most producers send the same records again by themselves: they are not further records."""
    write(tmp_path, "decisions-1.jsonl", counters("broker_rejected", 4, is_final=False, bad=4))
    assert counts.read_decision_log(tmp_path).booked == {("t", "c"): Booked(resent=4)}


def test_decisions_are_examples_and_are_never_added_up(tmp_path: Path):
    write(tmp_path, "decisions-1.jsonl", counters("rejected", 3, bad=3) | {"event": "decision"})
    assert counts.read_decision_log(tmp_path).booked == {}


def test_a_run_that_sees_midnight_has_two_days(tmp_path: Path):
    late = counters("accepted", 1, day="2026-11-21")
    write(tmp_path, "decisions-1.jsonl", late, counters("accepted", 1))
    assert counts.read_decision_log(tmp_path).days == ["2026-11-20", "2026-11-21"]


def test_a_decision_log_that_was_not_closed_is_an_error(tmp_path: Path):
    write(tmp_path, "decisions-1.jsonl.open", counters("accepted", 5))
    with pytest.raises(counts.IncompleteLogError, match=r"decisions-1\.jsonl\.open"):
        counts.read_decision_log(tmp_path)


def test_what_a_client_was_told_is_kept_by_topic():
    """Six events, two a client, each to a topic of its own; the later three are five years late."""
    events = [Event(f"row {n}", lateness_ms=0 if n < 3 else 5 * 365 * 86_400_000) for n in range(6)]
    receipt = Receipt(shares(events)[0], handed_over=2, acknowledged={0}, rejected={1: "InvalidTimestamp"})
    told = counts.results_of_clients([receipt])
    week, quarter = told["commits.week", "commits-java"], told["commits.quarter", "commits-java"]
    assert week.acknowledged == {b"commits-java/0"}
    assert week.rejected == week.culprits == frozenset()
    assert quarter.rejected == quarter.culprits == {b"commits-java/1"}
    assert week.sent == quarter.sent == 1


def test_a_record_that_was_never_settled_is_in_neither_set():
    receipt = Receipt(shares([])[3])
    (told,) = counts.results_of_clients([receipt]).values()
    assert told.sent == len([m for m in receipt.share.messages if m.topic == SYNTHETIC_TOPIC])
    assert told.acknowledged == told.rejected == frozenset()
