"""Seconds for milliseconds, into a topic as Kafka makes it: rejected by nothing, and shown by everything."""

import asyncio
import json

import pytest
from confluent_kafka import Producer

from tests.attacks.attacker import metric
from tests.e2e.reported import report_on
from tests.proxy.running import page
from tsproxy.cli import main
from tsproxy.clock import Clock
from tsproxy.testing.proxy import RunningProxy

RECORDS = 500
COUNTED = 'tsproxy_candidate_bad_records_total{reason="too_old",unit="seconds"}'


def send(servers, topic, timestamps, client_id):
    """By librdkafka; how many records it was told are stored."""
    stored = []
    producer = Producer({"bootstrap.servers": servers, "client.id": client_id, "linger.ms": 20})
    for number, timestamp in enumerate(timestamps):
        producer.produce(
            topic,
            b"%d" % number,
            timestamp=timestamp,
            on_delivery=lambda error, _: stored.append(error is None),
        )
    assert producer.flush(60) == 0
    return sum(stored)


@pytest.mark.timeout(1_800)  # one start of Java for the report, on a machine that may be busy
async def test_500_records_in_seconds_are_seen_everywhere_and_rejected_nowhere(
    kafka, topic, spark, tmp_path, capsys
):
    """The first batch of a topic that is made while the proxy runs: a job that sends one batch a night has no
    other."""
    log = tmp_path / "log"
    now_ms = Clock().now_ms()
    async with RunningProxy(kafka.bootstrap_servers, decisions=log) as proxy:
        await kafka.create_topic(topic)
        seconds = [now_ms // 1_000 - number for number in range(RECORDS)]
        stored = await asyncio.to_thread(send, proxy.bootstrap_servers, topic, seconds, "in-seconds")
        assert stored == RECORDS

        assert await metric(proxy, COUNTED) == RECORDS
        _, top = await page(proxy.admin_address, "/decisions/top")
        [offender] = json.loads(top)["offenders"]
        assert (offender["client_id"], offender["bad_records"]) == ("in-seconds", RECORDS)
        assert (offender["unit_guess"], offender["verdict"]) == ("seconds", "accepted")
        _, live = await page(proxy.admin_address, "/")
        assert "in-seconds" in live
        assert "timestamps are in seconds" in live
        assert "far behind, only counted" in live
    examples = [each for each in proxy.decisions() if each["event"] == "decision"]
    assert {(each["rule"], each["unit_guess"], each["verdict"]) for each in examples} == {
        ("candidate", "seconds", "accepted")
    }

    report = report_on(log, tmp_path / "report", now_ms)
    made = (tmp_path / "report" / "report.html").read_text()
    totals = report["totals"]
    assert (totals["records_rejected"], totals["records_broker_rejected"]) == (0, 0)
    [row] = report["would_reject"]
    assert (row["client_id"], row["bad_records"]) == ("in-seconds", RECORDS)
    assert (row["cause"], row["fix"]) == ("timestamps are in seconds", "multiply by 1,000")
    for told in (f"Far behind the clock: {RECORDS} records", "in-seconds", "Timestamps are in seconds"):
        assert told in made

    (tmp_path / "tsproxy.yaml").write_text("policy: { mode: enforce }\n")
    at = ["--config", str(tmp_path / "tsproxy.yaml"), "--topic", topic, "--timestamp", str(now_ms // 1_000)]
    assert main(["explain", *at, "--before", "unlimited", "--after", "1h"]) == 0
    explained = capsys.readouterr().out
    assert "looks like seconds: multiply by 1,000" in explained
    assert "counted as far behind, rejected by nothing" in explained


async def test_the_first_batch_to_a_topic_that_exists_since_before_the_start_is_counted(kafka, topic):
    await kafka.create_topic(topic)
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        seconds = [Clock().now_ms() // 1_000] * RECORDS
        assert await asyncio.to_thread(send, proxy.bootstrap_servers, topic, seconds, "nightly") == RECORDS
        assert await metric(proxy, COUNTED) == RECORDS
