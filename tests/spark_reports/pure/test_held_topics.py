"""Until when records from the future hold topics, from a scan of the cluster."""

import json

import pytest

from spark_reports.arguments import scan
from spark_reports.commands.publishing import Publication
from spark_reports.errors import UsageError
from spark_reports.report import headline
from spark_reports.report.held_topics import held
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.rolled import day_of, rejected, repaired, reported, row, source_of, watched

LONG_MAX = 2**63 - 1
WEEK_MS = 7 * DAY_MS
TOPICS = dict.fromkeys(("orders", "clicks", "audit", "fixed", "soon", "ours", "fine"), WEEK_MS)


def ahead(make, topic, by_ms, **changes):
    return make("c", topic=topic, drift_max_ms=by_ms, **changes)


ROWS = (
    ahead(rejected, "orders", 30 * DAY_MS),
    ahead(rejected, "orders", 2 * DAY_MS),
    ahead(rejected, "clicks", LONG_MAX - 2 * MIDNIGHT_MS),
    ahead(rejected, "unknown", 30 * DAY_MS),
    ahead(rejected, "soon", DAY_MS),
    ahead(rejected, "ours", 30 * DAY_MS, is_final=False),
    ahead(watched, "audit", 3 * DAY_MS),
    ahead(watched, "ours", 3 * DAY_MS, verdict="broker_rejected"),
    ahead(repaired, "fixed", 30 * DAY_MS),
    ahead(row, "fine", 30 * DAY_MS),
)


def test_a_topic_is_held_by_what_was_rejected_or_only_counted_and_by_nothing_else():
    assert [tuple(each.values()) for each in held(source_of(*ROWS), TOPICS)] == [
        ("clicks", LONG_MAX - MIDNIGHT_MS + WEEK_MS, False),
        ("orders", MIDNIGHT_MS + 30 * DAY_MS + WEEK_MS, False),
        ("audit", MIDNIGHT_MS + 3 * DAY_MS + WEEK_MS, True),
        ("ours", MIDNIGHT_MS + 3 * DAY_MS + WEEK_MS, False),  # the broker did not store it
    ]


def test_no_time_is_beyond_the_last_one():
    [topic] = held(source_of(ahead(rejected, "orders", LONG_MAX - 1)), TOPICS)
    assert topic["until_ms"] == LONG_MAX


def test_the_sentences_name_three_topics_and_count_the_others():
    found = held(source_of(*ROWS, ahead(rejected, "fine", 2 * DAY_MS)), TOPICS)
    report = reported(ROWS) | {"held_topics": found}
    assert headline.held(report) == [
        "Stored, the rejected records would have held topics clicks until the year 292,278,937, "
        "orders until 2026-12-27, ours until 2026-11-30, 1 more.",
        "Records that were only counted hold topic audit until 2026-11-30.",
    ]
    assert headline.held(reported(ROWS)) == []


def test_the_time_of_another_record_holds_no_topic_longer():
    """The last time of one client and the greatest drift of another made it a day too long."""
    late = rejected("replay", topic="orders", last_ms=MIDNIGHT_MS + DAY_MS - 1, drift_max_ms=-30 * DAY_MS)
    [topic] = held(source_of(ROWS[0], late), TOPICS)
    assert topic["until_ms"] == MIDNIGHT_MS + 30 * DAY_MS + WEEK_MS


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "[" * 100_000),
        *(f'{{"retention_ms": {value}}}' for value in ("7", "[]", '{"t": "a week"}', '{"t": 1e999}')),
        '{"cluster_id": 7, "retention_ms": {}}',
    ],
)
def test_another_file_is_named(tmp_path, text):
    file = tmp_path / "scan.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"scan\.json is not what `tsproxy scan --json` prints"):
        scan(str(file))


def test_a_file_elsewhere_is_refused():
    with pytest.raises(ValueError, match=r"s3a://lake/scan\.json: must be on this machine"):
        scan("s3a://lake/scan.json")


def test_the_file_of_a_scan_is_read(tmp_path):
    file = tmp_path / "scan.json"
    file.write_text(json.dumps({"findings": [], "retention_ms": {"orders": WEEK_MS}}))
    assert scan(str(file)) == {"cluster_id": None, "retention_ms": {"orders": WEEK_MS}}


@pytest.mark.parametrize("ours", ["mine", None])
@pytest.mark.parametrize("theirs", ["mine", "other", None])
def test_a_scan_of_another_cluster_is_refused(ours, theirs):
    day = day_of(*[each | {"cluster_id": ours} for each in ROWS])
    publication = Publication("out", (), scan={"cluster_id": theirs, "retention_ms": TOPICS})
    if None not in (ours, theirs) and ours != theirs:
        with pytest.raises(UsageError, match="--scan and the log are of two clusters: mine, other"):
            publication.completed(day, MIDNIGHT_MS, None, {}, {})
    else:
        report, *_ = publication.completed(day, MIDNIGHT_MS, None, {}, {})
        assert len(report["held_topics"]) == 4
