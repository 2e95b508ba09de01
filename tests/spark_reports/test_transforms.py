"""Odd names in the tables of Spark, from a handful of lines; test_report.py has the tables of a rich day."""

import pytest
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.testing import assertDataFrameEqual

from spark_reports.log import read
from spark_reports.report import rollup, transforms, words, wrong_clocks
from spark_reports.report.sums import collected
from tests.spark_reports.day import FRIDAY
from tests.spark_reports.logs import counters, write

REJECTED = {"verdict": "rejected", "reason": "too_far_ahead", "error_code": 32, "bad_records": 4}


@pytest.fixture
def counters_of(spark, tmp_path):
    """A DataFrame of counters lines."""

    def make(*lines):
        path = write(tmp_path / "a.jsonl", *[counters(seq, **fields) for seq, fields in enumerate(lines)])
        source = read.Source([str(path)], FRIDAY, FRIDAY)
        return transforms.named(read.marked_lines(spark, source))

    return make


def test_a_name_that_is_a_placeholder_of_the_tables_has_a_backslash_in_front(counters_of):
    """It is taken away again: no two names become one."""
    names = [f"{slashes}{name}" for name in words.PLACEHOLDERS for slashes in ("", "\\", "\\\\")]
    names += ["\\other", "(Other)", "x(other)", ")", "\\", "(other)\n", ""]
    made = counters_of(*[{"client_id": name} for name in names])
    shown = [row["client_id"] for row in sorted(made.collect(), key=lambda row: row["seq"])]
    assert [words.true_id(name) for name in shown] == names
    assert not {*shown} & {*words.PLACEHOLDERS}
    assert {*names[3 * len(words.PLACEHOLDERS) :]} <= {*shown}


def test_the_worst_clients_are_those_with_most_rejected_records_also_without_an_id(counters_of):
    null, other = {**REJECTED, "client_id": None, "records": 20}, {**REJECTED, "principal": "User:a"}
    rolled = transforms.rollup(counters_of(null, {"client_id": None}, other, REJECTED, {"records": 90}))
    worst = [transforms.worst_clients(rolled, count) for count in (1, 2)]
    assert [(row["client_id"], row["principal"]) for row in worst[1].collect()] == [
        (None, None),
        ("app", None),
    ]
    assert {row["client_id"] for row in transforms.of_clients(rolled, worst[0]).collect()} == {None}


def test_rows_come_to_the_driver_as_they_are(spark):
    """They come as text: a client chooses its name, and a sum may be larger than what a float holds."""
    texts = ['", "a": 1}\n{', "\\", "\x00\x1b", "\u2028é😀", "null", "2026-11-20T10:00:00Z", "", " ", None]
    rows = [(text, 2**63 - 1 - n, n % 2 == 0) for n, text in enumerate(texts)] + [(None, None, None)]
    frame = spark.createDataFrame(rows, "name STRING, records BIGINT, is_final BOOLEAN")
    table = collected(frame.repartition(3))
    assert {tuple(row.values()) for row in table.to_pylist()} == {*rows}
    assert len(table) == len(rows)
    empty = collected(frame.where("false"))
    assert (len(empty), empty.schema) == (0, table.schema)


def test_drift_is_the_same_by_number_and_by_name_and_two_names_of_one_number_are_noticed(
    monkeypatch, counters_of
):
    """Also of clients without an id or a principal."""
    made = counters_of(
        {"client_id": "a", "principal": None}, {"client_id": None, "principal": "a"},
        {"client_id": None, "principal": None}, {"client_id": "a", "principal": "a"}, {**REJECTED},
        {"client_id": "a", "principal": "a", "interval_start": "2026-11-20T05:00:00.000Z"},
    )  # fmt: skip
    keys = rollup.drift_keys(transforms.rollup(made))
    assert rollup.ambiguous(keys).isEmpty()
    assertDataFrameEqual(rollup.drift(made, keys), rollup.drift(made, None))
    monkeypatch.setattr(rollup, "_number", lambda: F.lit(7).cast("bigint").alias("number"))
    assert not rollup.ambiguous(rollup.drift_keys(transforms.rollup(made))).isEmpty()


def test_no_join_doubles_or_drops_a_line(counters_of):
    """The times of a wrong clock overlap here. A boot without one has its lines, too."""
    lines = counters_of({}, REJECTED, {**REJECTED, "client_id": None, "rule": None}, {"boot": "other"})
    time = {"proxy": "px", "boot": "b", "from_seq": 0, "to_seq": 2, "offset_ms": 10}
    marked = wrong_clocks.marked(lines, [time, time | {"to_seq": 1, "offset_ms": 20}])
    seen = sorted((row["seq"], row["offset_ms"]) for row in marked.collect())
    assert seen == [(0, 10), (1, 10), (2, 10), (3, None)]
