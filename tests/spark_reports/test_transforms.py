"""The rollup, its histograms, addresses and examples, from a handful of lines."""

from datetime import date

import pytest
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.testing import assertDataFrameEqual

from spark_reports.log import frames, read
from spark_reports.log.schema import KEY, OPTIONAL_SUMS, SUMS
from spark_reports.report import groups, rollup, transforms, words
from spark_reports.report.sums import collected
from spark_reports.report.table_source import TableSource
from tests.spark_reports.day import MIDNIGHT_MS
from tests.spark_reports.logs import counters, line, write
from tsproxy.decisions.drift import bucket

HOUR_MS = 3_600_000
FRIDAY = date(2026, 11, 20)

REJECTED = {"verdict": "rejected", "reason": "too_far_ahead", "error_code": 32, "bad_records": 4}
REJECTED |= {"collateral_records": 6, "drift_min_ms": 5, "drift_max_ms": 9}
TIMEOUT = {"verdict": "broker_rejected", "reason": "other", "error_code": 7, "bad_records": 10}


@pytest.fixture
def counters_of(spark, tmp_path):
    """A DataFrame of counters lines. Reports set spoilt ones aside; here they show that no table needs it."""

    def make(*lines):
        path = write(tmp_path / "a.jsonl", *[counters(seq, **fields) for seq, fields in enumerate(lines)])
        source = read.Source([str(path)], FRIDAY, FRIDAY)
        return transforms.named(read.marked_lines(spark, source))

    return make


@pytest.fixture
def rolled_of(counters_of):
    return lambda *lines: transforms.rollup(counters_of(*lines))


def drift_of(made):
    return rollup.drift(made, rollup.drift_keys(transforms.rollup(made)))


def test_examples_are_batches_that_were_rejected_for_good(spark, tmp_path):
    """A batch that the producer sends again has no bad record, and a batch that was only counted no error."""
    own = {"listener": "public", "topic": "orders", "partition": 0, "client_id": "app", "records": 10}
    lines = [
        line(0, "decision", **own, **REJECTED, is_final=True, bad_index=[0], bad_ts=[5]),
        line(1, "decision", **own, **TIMEOUT, is_final=False),
        line(2, "decision", **own, **(REJECTED | {"verdict": "accepted"}), is_final=True, would_reject=True),
        line(3, "decision", **own, **(TIMEOUT | {"verdict": "unconfirmed"}), is_final=True),
    ]
    source = read.Source([str(write(tmp_path / "a.jsonl", *lines))], FRIDAY, FRIDAY)
    decisions = read.marked_lines(spark, source).where("event = 'decision'")
    [found] = frames.rows(transforms.examples(decisions, 2))
    assert (found["seq"], found["bad_ts"]) == (0, [5])


def test_rollup_adds_up_what_has_one_key_and_keeps_the_extremes(spark, rolled_of):
    rolled = rolled_of(
        {**REJECTED, "first_ts": "2026-11-20T00:00:05.000Z"},
        {**REJECTED, "last_ts": "2026-11-20T00:00:50.000Z", "drift_min_ms": -7},
        {},
    )
    expected = spark.sql(
        "SELECT 'rejected' verdict, 2L batches, 20L records, 8L bad_records, 12L collateral_records, "
        f"{MIDNIGHT_MS}L first_ms, {MIDNIGHT_MS + 50_000}L last_ms, "
        "-7L drift_min_ms, 9L drift_max_ms "
        "UNION ALL SELECT 'accepted', 1L, 10L, 0L, 0L, null, null, null, null"
    )
    assertDataFrameEqual(rolled.select(*expected.columns), expected)


def test_rollup_keeps_hours_apart_and_has_the_columns_it_promises(rolled_of):
    rolled = rolled_of({}, {"interval_start": "2026-11-20T05:00:00.000Z"})
    assert sorted(row["hour"] for row in rolled.collect()) == ["2026-11-20T00", "2026-11-20T05"]
    assert set(rolled.columns) == {
        "hour", "cluster_id", *KEY, *SUMS, "first_ms", "last_ms", "drift_min_ms", "drift_max_ms",
        *OPTIONAL_SUMS, "left_out_records",
    } - {"folded"}  # fmt: skip


def test_folded_keys_are_one_and_apart_from_a_client_really_called_other(rolled_of):
    rolled = rolled_of(
        {"topic": "other", "client_id": "other", "folded": True}, {"topic": "other", "client_id": "other"}
    )
    found = {(row["topic"], row["client_id"]) for row in rolled.collect()}
    assert found == {(words.FOLDED, words.FOLDED), ("other", "other")}


def test_a_name_that_is_a_placeholder_of_the_tables_has_a_backslash_in_front(rolled_of):
    """It is taken away again: no two names become one."""
    names = [f"{slashes}{name}" for name in words.PLACEHOLDERS for slashes in ("", "\\", "\\\\")]
    names += ["\\other", "(Other)", "x(other)", ")", "\\", "(other)\n", ""]
    rolled = rolled_of(*[{"client_id": name, "topic": f"t{n}"} for n, name in enumerate(names)])
    shown = [row["client_id"] for row in sorted(rolled.collect(), key=lambda row: int(row["topic"][1:]))]
    assert [words.true_id(name) for name in shown] == names
    assert not {*shown} & {*words.PLACEHOLDERS}
    assert {*names[3 * len(words.PLACEHOLDERS) :]} <= {*shown}


def test_the_worst_clients_are_those_with_most_rejected_records_also_without_an_id(rolled_of):
    null, other = {**REJECTED, "client_id": None, "records": 20}, {**REJECTED, "principal": "User:a"}
    rolled = rolled_of(null, {"client_id": None}, other, REJECTED, {"records": 90})
    worst = [transforms.worst_clients(rolled, count) for count in (1, 2)]
    assert [(row["client_id"], row["principal"]) for row in worst[1].collect()] == [
        (None, None),
        ("app", None),
    ]
    assert {row["client_id"] for row in transforms.of_clients(rolled, worst[0]).collect()} == {None}


def test_addresses_are_those_the_client_was_rejected_from(counters_of):
    made = counters_of(
        {**REJECTED, "addresses": ["10.0.0.2", "10.0.0.1"]},
        {**REJECTED, "addresses": ["10.0.0.1"]},
        {"addresses": ["10.9.9.9"]},
    )
    assert [row["addresses"] for row in transforms.client_addresses(made).collect()] == [
        ["10.0.0.1", "10.0.0.2"]
    ]


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


def test_drift_adds_buckets_whatever_became_of_their_batches(counters_of):
    far, near = bucket(2 * HOUR_MS), bucket(-50)
    histogram = {"ahead": [[far, 1, 10]], "behind": [[near, 1, 10]]}
    old = {**REJECTED, "reason": "too_old"}
    made = counters_of({**REJECTED, **histogram}, {**old, **histogram}, histogram, histogram)
    drift, again = (
        TableSource(collected(rows)).table(groups.TOTALS)
        for rows in (rollup.topic_drift(made), rollup.of_topics(drift_of(made)))
    )
    assert drift == again
    records = {(row["side"], row["bucket"]): row["records"] for row in drift}
    assert records == {("ahead", far): 40, ("behind", near): 40}


def test_histograms_of_other_edges_and_unknown_buckets_are_not_added(counters_of):
    made = counters_of({"hist": "drift-v2"}, {"ahead": [[9999, 1, 10]], "behind": []})
    assert drift_of(made).count() == 0


def test_drift_is_the_same_by_number_and_by_name_also_of_clients_without_an_id_or_a_principal(counters_of):
    made = counters_of(
        {"client_id": "a", "principal": None}, {"client_id": None, "principal": "a"},
        {"client_id": None, "principal": None}, {"client_id": "a", "principal": "a"}, {**REJECTED},
        {"client_id": "a", "principal": "a", "interval_start": "2026-11-20T05:00:00.000Z"},
    )  # fmt: skip
    keys = rollup.drift_keys(transforms.rollup(made))
    assert rollup.ambiguous(keys).isEmpty()
    assertDataFrameEqual(rollup.drift(made, keys), rollup.drift(made, None))


def test_a_broken_histogram_spoils_no_sum(counters_of):
    made = counters_of({"ahead": [[1], [], [2, 1, 10]]}, {"ahead": [[2, 1, 10]], "behind": None})
    found = {(row["side"], row["bucket"]): row["records"] for row in drift_of(made).collect()}
    assert found == {("ahead", 1): 0, ("ahead", 2): 20, ("behind", -4): 10}


def test_two_keys_of_one_number_are_noticed(monkeypatch, counters_of):
    made = counters_of({"client_id": "a"}, {"client_id": "b"})
    monkeypatch.setattr(rollup, "_number", lambda: F.lit(7).cast("bigint").alias("number"))
    keys = rollup.drift_keys(transforms.rollup(made))
    assert not rollup.ambiguous(keys).isEmpty()
