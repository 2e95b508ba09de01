"""A log of very many files, proxies and topics: what comes to the driver is bounded."""

import json

import pytest
from pyspark.sql.classic.dataframe import DataFrame

from spark_reports.cli import main
from spark_reports.log import log_reader
from spark_reports.log.completeness import Evidence, quality
from spark_reports.log.read import Source
from spark_reports.report.sums import summed
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, line, write


@pytest.fixture
def files(tmp_path):
    """Twelve files of six proxies, two still being written. Six lines come twice, and four are garbage."""
    for proxy in range(6):
        own = {"boot": f"b{proxy}", "proxy": f"px-{proxy}"}
        name = f"decisions-20261120T000000Z-px-{proxy}.jsonl"
        write(tmp_path / name, counters(0, **own), counters(0, **own), raw="garbage\n" * (proxy % 3 == 0))
        late = f"decisions-20261120T100000Z-px-{proxy}.jsonl" + ".open" * (proxy < 2)
        write(tmp_path / late, heartbeat(1, **own), raw="more garbage\n" * (proxy < 2))
    return Source([str(tmp_path)], FRIDAY, FRIDAY)


def test_many_files_are_added_up_by_spark_with_the_same_result(spark, files, monkeypatch):
    with log_reader.lines(spark, files) as log:
        each = log.evidence().files
        monkeypatch.setattr(log_reader, "FEW", 5)
        added_up = log.evidence().files
    assert len(each) == 16
    assert len(added_up) == 1 + 2 + 4  # of all files, by problem, and the examples
    one, other = (
        quality(Evidence([], [], found), FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS) for found in (each, added_up)
    )
    assert one == other
    assert (one["files"], one["open_files"], one["duplicate_lines"]) == (12, 2, 6)
    assert one["quarantined_lines"] == {"not_json": 4}
    assert len(one["quarantined_examples"]) == 4


def test_files_that_hold_nothing_usable_are_counted_too(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(log_reader, "FEW", 1)
    for number in range(3):
        write(tmp_path / f"decisions-20261120T000000Z-{number}.jsonl", raw="garbage\n")
    with log_reader.lines(spark, Source([str(tmp_path)], FRIDAY, FRIDAY)) as log:
        found = log.evidence().files
    known = quality(Evidence([], [], found), FRIDAY, FRIDAY, MIDNIGHT_MS)
    assert (known["files"], known["open_files"]) == (3, 0)
    assert not any(row["inside"] for row in found)


def test_a_day_without_a_line_of_the_cluster_that_is_asked_for_has_no_sums(spark, tmp_path):
    """The report of the day before a move would be replaced by one of no records."""
    write(tmp_path / "decisions-20261120T000000Z-px-1.jsonl", counters(0, cluster_id="old"))
    found = []
    for cluster in ("old", "new"):
        with summed(spark, Source([str(tmp_path)], FRIDAY, FRIDAY), cluster) as sums:
            found.append(sums is not None)
    assert found == [True, False]


@pytest.fixture
def collected(monkeypatch):
    """The number of rows that came to the driver so far, and of the frames that they came from."""
    counts, collect = {"rows": 0, "frames": 0}, DataFrame.collect

    def counted(frame):
        rows = collect(frame)
        counts["rows"] += len(rows)
        counts["frames"] += 1
        return rows

    monkeypatch.setattr(DataFrame, "collect", counted)
    return counts


@pytest.mark.full_only("two nights, for memory alone; the tests above have what comes to the driver")
def test_a_night_of_forty_times_as_many_lines_brings_no_more_rows_to_the_driver(spark, tmp_path, collected):
    """So its memory does not grow with the lines of the log."""
    found = []
    for lines in (50, 2_000):
        folder = tmp_path / f"{lines}"
        log = [counters(seq, client_id=f"svc-{seq % 3}", ahead=[[5, 1, 10]]) for seq in range(1, lines)]
        ends = [heartbeat(lines), line(lines + 1, kind="stop")]
        write(folder / "in" / "decisions-20261120T000000Z-px.jsonl", line(0, kind="start"), *log, *ends)
        before = dict(collected)
        places = ("--input", str(folder / "in"), "--store", str(folder / "lake"))
        assert main(["daily", *places, "--date", "2026-11-20", "--quiet"]) == 0
        found.append({name: collected[name] - before[name] for name in collected})
        report = json.loads((folder / "lake" / "reports" / "2026-11-20" / "report.json").read_text())
        assert (report["totals"]["records_judged"], report["log"]["lines"]) == (10 * (lines - 1), lines + 2)
    assert found[0] == found[1]
    assert found[0]["frames"] > 8
