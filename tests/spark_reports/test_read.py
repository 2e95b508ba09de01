"""Reading a log: every line once, and nothing that cannot be used slips through or disappears.

One query reads the files of all tests that do not ask which files are read.
"""

import pytest

from spark_reports.log import read
from tests.spark_reports import collected
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, line, text_of, write


def rows_of(spark, *inputs, first=FRIDAY, last=FRIDAY):
    return collected.rows(spark, read.Source([str(path) for path in inputs], first, last))


def test_files_of_the_day_and_its_neighbours_are_read_from_a_directory_and_those_below(spark, tmp_path):
    """Rotation and late counters cross midnight; other days cost nothing. Files that are still written or
    compressed are read too."""
    names = [f"px-{day}/decisions-202611{day}T101500Z-px-b-0001.jsonl" for day in (18, 19, 20, 21, 22)]
    names[2:3] = [names[2] + ".gz", names[2] + ".open", names[2].replace("0001", "0002")]
    for number, name in enumerate([*names, "notes.txt"]):
        write(tmp_path / name, line(number))
    assert {row["file"] for row in rows_of(spark, tmp_path)} == {
        name.partition("/")[2] for name in names[1:-1]
    }


TORN = text_of([counters(1)])[:100]
EXTREMES = [2**63 - 1, -(2**63)]
UNUSABLE = (
    ({"v": 2}, "unknown_version"),
    ({"boot": None}, "no_identity"),
    ({"seq": -1}, "no_identity"),
    ({"seq": 2**62}, "no_identity"),
    ({"ts": "2026-11-20 00:01:00.000"}, "bad_instant"),
    ({"ts": "yesterday"}, "bad_instant"),
    ({"ts": 1795132800000}, "bad_instant"),
    ({"interval_start": "2026-02-30T00:00:00.000Z"}, "bad_instant"),
    ({"interval_ms": -1}, "bad_instant"),
    ({"interval_ms": 2**62}, "bad_instant"),
    ({"interval_start": None}, "bad_instant"),
    ({"records": -1}, "bad_count"),
    ({"records": 2**62}, "bad_count"),
    ({"batches": None}, "bad_count"),
    ({"records_unread": 2**62}, "bad_count"),
    ({"records": 2**63}, "bad_count"),
    ({"records": "ten"}, "bad_type"),
)
FILES = {
    "words": [counters(0, reason="too_warm", unit_guess="weeks"), counters(1, reason="too_old"), counters(2)],
    "twice": [line(0), line(1), line(1)],
    "again": [line(0)],
    "midnight": [counters(0, MIDNIGHT_MS + DAY_MS - MINUTE_MS)],
    "unusable": [counters(seq) | broken for seq, (broken, _) in enumerate(UNUSABLE)],
    "torn": [counters(0)],
    "later": [counters(0, colour="green", deep={"er": [1]}), line(1, "weather", wind=3)],
    "extremes": [line(0, "decision", bad_ts=EXTREMES, bad_index=[0, 1])],
    "facts": [line(0, kind="start", facts={"a": {"b": 1}})],
}
"""Each is given by its name, and so is read whatever that is. The lines of a file have a boot of their own,
but for those that are unusable: they have a proxy each."""


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    """Returns the rows of files, by the names of these."""
    folder = tmp_path_factory.mktemp("files")
    for name, lines in FILES.items():
        boot = "twice" if name == "again" else name
        own = [each | {"boot": each["boot"] and boot} for each in lines]
        if name == "unusable":
            own = [each | {"proxy": str(number)} for number, each in enumerate(own)]
        raw = "garbage\ngarbage\n42\n\n" + TORN if name == "torn" else ""
        write(folder / f"{name}.jsonl", *own, raw=raw)
    found = rows_of(spark, *(folder / f"{name}.jsonl" for name in FILES))
    return lambda *names: [row for row in found if row["file"].removesuffix(".jsonl") in names]


def test_words_of_a_newer_tsproxy_are_read_as_other(rows):
    found = {row["seq"]: (row["reason"], row["unit_guess"], row["problem"]) for row in rows("words")}
    assert found == {0: ("other", "other", None), 1: ("too_old", None, None), 2: (None, None, None)}


def test_a_line_delivered_twice_is_one_line(rows):
    assert {row["seq"]: row["copies"] for row in rows("twice", "again")} == {0: 2, 1: 2}


def test_counts_belong_to_the_day_and_hour_of_their_interval(rows):
    """Counters of the last minute are written when it is over: on the next day."""
    (row,) = rows("midnight")
    assert (row["ts"][:10], row["day"], row["hour"]) == ("2026-11-21", "2026-11-20", "2026-11-20T23")


def test_a_line_that_would_spoil_a_sum_is_set_aside(rows):
    assert {row["proxy"]: row["problem"] for row in rows("unusable")} == {
        str(n): problem for n, (_, problem) in enumerate(UNUSABLE)
    }


def test_a_line_that_is_not_json_is_set_aside_with_its_beginning_and_its_file(rows):
    found = rows("torn")
    assert sorted(row["raw"] for row in found if row["problem"]) == sorted(["garbage", "garbage", "42", TORN])
    assert len(found) == 5


def test_fields_and_events_of_a_later_minor_are_read_past(rows):
    """Within a version fields are only added."""
    assert {row["seq"]: row["problem"] for row in rows("later")} == {0: None, 1: None}


def test_extreme_timestamps_survive(rows):
    """Long.MIN and Long.MAX are record times that clients really send."""
    (row,) = rows("extremes")
    assert (row["problem"], row["bad_ts"]) == (None, EXTREMES)


def test_an_object_of_facts_does_not_disturb(rows):
    assert [row["problem"] for row in rows("facts")] == [None]
