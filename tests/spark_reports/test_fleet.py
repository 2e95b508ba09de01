"""A log of very many files, proxies and topics: what comes to the driver is bounded."""

import pytest

from spark_reports.log import file_counts, log_reader
from spark_reports.log.completeness import GAPS_LISTED, Evidence
from spark_reports.log.read import Source
from spark_reports.report.assemble import assemble, quality
from tests.spark_reports.collected import collect
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, line, write
from tests.spark_reports.test_stream import FRIDAY


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
        monkeypatch.setattr(file_counts, "FEW", 5)
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
    monkeypatch.setattr(file_counts, "FEW", 1)
    for number in range(3):
        write(tmp_path / f"decisions-20261120T000000Z-{number}.jsonl", raw="garbage\n")
    with log_reader.lines(spark, Source([str(tmp_path)], FRIDAY, FRIDAY)) as log:
        found = log.evidence().files
    assert file_counts.files(found) == (3, 0)
    assert not any(row["inside"] for row in found)


def test_lists_of_processes_and_times_are_cut_and_their_number_is_not(spark):
    last_ms = MIDNIGHT_MS + 3_600_000
    facts = {"lines": 1, "lost_lines": 0, "intervals": 1, "interval_ms": 60_000, "hole_ms": 0,
             "last_ms": last_ms, "covered_from_ms": MIDNIGHT_MS, "covered_to_ms": last_ms, "lines_dropped": 0,
             "decisions_suppressed": 0, "batches_folded": 0, "seq_from": 0, "started": True, "stopped": False,
             "seen_before": False, "seen_after": False}  # fmt: skip
    boots = [{"proxy": f"px-{number:04}", "boot": f"b{number}", **facts} for number in range(250)]
    found = quality(Evidence(boots, [], []), FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)
    assert found["silent_boots"] == 250
    assert [len(found[name]) for name in ("silent", "unheard")] == [GAPS_LISTED, GAPS_LISTED]


def test_limits_of_topics_that_are_not_shown_are_not_collected(spark, tmp_path):
    limits = {"timestamp_type": "CreateTime", "before_max_ms": 1, "after_max_ms": 1}
    lines = [counters(seq, topic=f"t{seq}", records=10 * (seq + 1)) for seq in range(8)]
    lines += [line(8 + n, kind="limits", topic=f"t{n}", **limits) for n in range(8)]
    write(tmp_path / "decisions-20261120T000000Z-a.jsonl", *lines)
    source = Source([str(tmp_path)], FRIDAY, FRIDAY)
    found = collect(spark, source, top=2)
    assert {row["topic"] for row in found.limits} == {"t6", "t7"}
    shown = assemble(found, FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)["limits"]
    assert [row["topic"] for row in shown] == ["t7", "t6"]
