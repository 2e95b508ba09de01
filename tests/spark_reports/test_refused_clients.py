"""Clients that Kafka 4 refuses by their protocol: named by the report of the day on which they came."""

from datetime import date, timedelta

import pytest

from spark_reports.log.read import Source
from spark_reports.render import html
from spark_reports.report import assemble, gates
from tests.spark_reports.collected import collect
from tests.spark_reports.day import HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import write
from tsproxy.decisions import DecisionLog, LifecycleKind
from tsproxy.model.outcome import OldRequest, Peer

FRIDAY, EVENING_MS = date(2026, 11, 20), MIDNIGHT_MS + 23 * HOUR_MS
OURA, BILLING = (
    Peer("public", "10.0.0.1", 1, "oura"),
    Peer("public", "10.0.0.2", 1, "billing", "User:b", "sarama/1.17.0"),
)


def the_evening():
    """The lines of an hour. The last request of the day stands in a line of the next day."""
    log = DecisionLog("px", "boot", EVENING_MS, interval_ms=60_000)
    lines = [log.lifecycle(LifecycleKind.START, EVENING_MS, {"mode": "enforce"})]
    for now_ms, peer, api, version in (
        (EVENING_MS + 1_000, BILLING, "Fetch", 3),
        (EVENING_MS + 3_600_000 - 1, BILLING, "Fetch", 0),
        (EVENING_MS + 3_600_000 - 1, OURA, "Produce", 0),
        (EVENING_MS + 3_660_000, Peer("public", "10.0.0.3", 1, "tomorrow"), "Produce", 0),
    ):
        lines.extend(log.tick(now_ms))
        log.note(OldRequest(peer, api, version))
    return [*lines, *log.stop(EVENING_MS + 3_700_000)]


@pytest.fixture(scope="module")
def reported(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evening")
    write(folder / "decisions-20261120T230000Z-px-boot-0001.jsonl", *the_evening())

    def of(day):
        return assemble.assemble(collect(spark, Source([str(folder)], day, day)), day, day, EVENING_MS)

    return of


def test_each_client_and_api_has_a_row_with_its_lowest_and_highest_version(reported):
    report = reported(FRIDAY)
    rows = [
        (row["client_id"], row["api"], row["version_min"], row["version_max"])
        for row in report["refused_by_kafka_4"]
    ]
    assert rows == [("billing", "Fetch", 0, 3), ("oura", "Produce", 0, 0)]
    assert report["details"][0] == (
        "Kafka 4 refuses 2 clients by protocol (billing as User:b, sarama/1.17.0: Fetch 0 to 3)."
    )
    assert report["log"]["state"] == "complete_in_part"
    assert gates.parse("clients_refused_by_kafka_4>1").tripped_by(report)
    assert "oura: Produce 0" in html.render(report)


def test_a_request_counts_on_its_own_day(reported):
    report = reported(FRIDAY + timedelta(days=1))
    assert [row["client_id"] for row in report["refused_by_kafka_4"]] == ["tomorrow"]
