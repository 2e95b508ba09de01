"""Reading a log: every line once, and nothing that cannot be used slips through or disappears."""

from datetime import date

import pytest

from spark_reports.log import read
from tests.spark_reports import collected
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, text_of, write

FRIDAY = date(2026, 11, 20)


def rows_of(spark, *inputs, first=FRIDAY, last=FRIDAY):
    return collected.rows(spark, read.Source([str(path) for path in inputs], first, last))


def problems(spark, *inputs):
    return {row["seq"]: row["problem"] for row in rows_of(spark, *inputs)}


@pytest.fixture
def names_read(spark, tmp_path):
    """The files of a directory that are read for the day."""

    def read_names(*names):
        for number, name in enumerate(names):
            write(tmp_path / name, line(number))
        return {row["file"] for row in rows_of(spark, tmp_path)}

    return read_names


def test_files_of_the_day_and_its_neighbours_are_read_from_a_directory(names_read):
    """Rotation and late counters cross midnight; other days cost nothing."""
    names = [f"decisions-202611{day}T101500Z-px-b-0001.jsonl" for day in (18, 19, 20, 21, 22)]
    assert names_read(*names) == set(names[1:4])


def test_files_still_written_and_files_compressed_are_read_too(names_read):
    names = {
        "decisions-20261120T000000Z-px-b-0001.jsonl.gz",
        "decisions-20261120T100000Z-px-b-0002.jsonl.open",
    }
    assert names_read(*names, "notes.txt") == names


def test_words_of_a_newer_tsproxy_are_read_as_other(spark, tmp_path):
    lines = [counters(0, reason="too_warm", unit_guess="weeks"), counters(1, reason="too_old"), counters(2)]
    rows = rows_of(spark, write(tmp_path / "a.jsonl", *lines))
    found = {row["seq"]: (row["reason"], row["unit_guess"], row["problem"]) for row in rows}
    assert found == {0: ("other", "other", None), 1: ("too_old", None, None), 2: (None, None, None)}


def test_directories_below_are_read(spark, tmp_path):
    write(tmp_path / "px-1" / "decisions-20261120T000000Z-px-b-0001.jsonl", line(0))
    write(tmp_path / "px-2" / "decisions-20261120T000000Z-px-c-0001.jsonl", line(0, boot="c"))
    assert len(rows_of(spark, tmp_path)) == 2


def test_a_file_given_by_name_is_read_whatever_it_is_called(spark, tmp_path):
    assert len(rows_of(spark, write(tmp_path / "mine.jsonl", line(0)))) == 1


def test_a_directory_without_files_of_the_day_holds_no_lines(spark, tmp_path):
    assert rows_of(spark, tmp_path) == []


def test_a_line_delivered_twice_is_one_line(spark, tmp_path):
    first = write(tmp_path / "a.jsonl", line(0), line(1), line(1))
    again = write(tmp_path / "b.jsonl", line(0))
    assert {row["seq"]: row["copies"] for row in rows_of(spark, first, again)} == {0: 2, 1: 2}


def test_counts_belong_to_the_day_and_hour_of_their_interval(spark, tmp_path):
    """Counters of the last minute are written when it is over: on the next day."""
    path = write(tmp_path / "a.jsonl", counters(0, MIDNIGHT_MS + DAY_MS - MINUTE_MS))
    (row,) = rows_of(spark, path)
    assert (row["ts"][:10], row["day"], row["hour"]) == ("2026-11-21", "2026-11-20", "2026-11-20T23")


UNUSABLE = (
    ({"v": 2}, "unknown_version"),
    ({"boot": None}, "no_identity"),
    ({"seq": -1}, "no_identity"),
    ({"seq": 2**62}, "no_identity"),
    ({"ts": "2026-11-20 00:01:00.000Z"}, "bad_instant"),
    ({"ts": "yesterday"}, "bad_instant"),
    ({"ts": 1795132800000}, "bad_instant"),
    ({"interval_start": "2026-02-30T00:00:00.000Z"}, "bad_instant"),
    ({"interval_ms": -1}, "bad_instant"),
    ({"interval_ms": 2**62}, "bad_instant"),
    ({"interval_start": None}, "bad_instant"),
    ({"records": -1}, "bad_count"),
    ({"records": 2**62}, "bad_count"),
    ({"batches": None}, "bad_count"),
    ({"out_of_order_records": 2**62}, "bad_count"),
    ({"records": 2**63}, "not_json"),
    ({"records": "ten"}, "not_json"),
)


def test_a_line_that_would_spoil_a_sum_is_set_aside(spark, tmp_path):
    lines = [counters(seq) | broken for seq, (broken, _) in enumerate(UNUSABLE)]
    lines = [each | {"proxy": str(number)} for number, each in enumerate(lines)]
    found = rows_of(spark, write(tmp_path / "a.jsonl", *lines, counters(99, proxy="99")))
    assert {row["proxy"]: row["problem"] for row in found} == {
        **{str(n): problem for n, (_, problem) in enumerate(UNUSABLE)},
        "99": None,
    }


def test_a_line_that_is_not_json_is_set_aside_with_its_beginning_and_its_file(spark, tmp_path):
    torn = text_of([counters(1)])[:100]
    path = write(tmp_path / "a.jsonl", counters(0), raw="garbage\ngarbage\n42\n\n" + torn)
    rows = rows_of(spark, path)
    assert sorted(row["raw"] for row in rows if row["problem"]) == sorted(["garbage", "garbage", "42", torn])
    assert {row["file"] for row in rows} == {"a.jsonl"}


def test_fields_and_events_of_a_later_minor_are_read_past(spark, tmp_path):
    """Within a version fields are only added."""
    path = write(
        tmp_path / "a.jsonl", counters(0, colour="green", deep={"er": [1]}), line(1, "weather", wind=3)
    )
    assert problems(spark, path) == {0: None, 1: None}


def test_extreme_timestamps_survive(spark, tmp_path):
    """Long.MIN and Long.MAX are record times that clients really send."""
    extremes = [2**63 - 1, -(2**63)]
    path = write(tmp_path / "a.jsonl", line(0, "decision", bad_ts=extremes, bad_index=[0, 1]))
    (row,) = rows_of(spark, path)
    assert (row["problem"], row["bad_ts"]) == (None, extremes)


def test_an_object_of_facts_does_not_disturb(spark, tmp_path):
    assert problems(spark, write(tmp_path / "a.jsonl", line(0, kind="start", facts={"a": {"b": 1}}))) == {
        0: None
    }


def test_the_period_has_both_its_ends(spark, tmp_path):
    days = [MIDNIGHT_MS + n * DAY_MS for n in range(-1, 3)]
    path = write(tmp_path / "a.jsonl", *[heartbeat(n, day) for n, day in enumerate(days)])
    source = read.Source([str(path)], FRIDAY, date(2026, 11, 21))
    inside = read.of_period(read.marked_lines(spark, source), FRIDAY, date(2026, 11, 21))
    assert sorted(row["seq"] for row in inside.collect()) == [1, 2]
