"""`tsproxy replay --decisions`: thresholds over the histograms of a real proxy's log."""

import json
import re
import time

from aiokafka import AIOKafkaProducer
from hypothesis import given
from hypothesis import strategies as st

from tests.offline.commands import tsproxy
from tests.proxy.running import limits_are_known
from tsproxy.decisions.drift import EDGES, bucket
from tsproxy.model.verdict import TopicLimits
from tsproxy.offline.replay.histograms import outside, over
from tsproxy.testing.proxy import RunningProxy

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

DRIFTS = st.integers(0, 40).flatmap(lambda bits: st.integers(-(2**bits), 2**bits))
BATCHES = st.lists(st.lists(DRIFTS, min_size=1, max_size=4), max_size=20)


def bars(batches, pick):
    rows = {}
    for drifts in batches:
        counts = rows.setdefault(bucket(pick(drifts)), [0, 0])
        counts[0] += 1
        counts[1] += len(drifts)
    return [(index, *counts) for index, counts in sorted(rows.items())]


@given(BATCHES, st.one_of(st.none(), DRIFTS.map(abs)), st.one_of(st.none(), DRIFTS.map(abs)))
def test_the_truth_lies_between_what_is_certain_and_what_is_possible(batches, before_ms, after_ms):
    limits = TopicLimits(before_max_ms=before_ms, after_max_ms=after_ms)
    rejected = [
        drifts
        for drifts in batches
        if (after_ms is not None and max(drifts) > after_ms)
        or (before_ms is not None and min(drifts) < -before_ms)
    ]

    found = outside(bars(batches, max), bars(batches, min), limits)

    assert found.batches[0] <= len(rejected) <= found.batches[1]
    assert found.records[0] <= sum(map(len, rejected)) <= found.records[1]


@given(BATCHES, st.sampled_from(EDGES))
def test_a_limit_that_is_an_edge_is_counted_exactly(batches, limit_ms):
    found = over([bar for bar in bars(batches, max) if bar[0] > 0], limit_ms)

    assert found.batches == (sum(max(drifts) > limit_ms for drifts in batches),) * 2


async def test_a_log_of_accepted_traffic_tells_what_a_stricter_limit_would_have_rejected(
    kafka_391, topic, tmp_path, capsys
):
    now_ms = time.time_ns() // 1_000_000
    await kafka_391.create_topic(topic)
    sent = 5
    async with (
        RunningProxy(kafka_391.bootstrap_servers, decisions=tmp_path) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, client_id="app") as producer,
    ):
        while not limits_are_known(proxy, topic):
            await producer.send_and_wait(topic, b"v", timestamp_ms=now_ms)
            sent += 1
        for ahead_ms in (0, 0, 10 * 60_000, 2 * DAY_MS, -3 * DAY_MS):
            await producer.send_and_wait(topic, b"v", timestamp_ms=now_ms + ahead_ms)

    stricter = [
        "--set=policy.limits_from=config",
        "--set=policy.defaults.message.timestamp.after.max.ms=1h",
        "--set=policy.defaults.message.timestamp.before.max.ms=2d",
    ]
    with_limits = await tsproxy(capsys, "replay", "--decisions", tmp_path, *stricter, "--json")
    as_it_was = await tsproxy(
        capsys,
        "replay",
        "--decisions",
        tmp_path,
        "--set=policy.candidate.preset=none",
        "--fail-on",
        "rejected",
    )

    (line,) = with_limits.json["lines"]
    assert (line["topic"], line["client_id"], line["records"]) == (topic, "app", sent)
    assert (line["rejected_batches"], line["uncertain_records"]) == (2, 0)
    assert set(line["reasons"]) == {"too_far_ahead", "too_old"}
    assert line["bad_records"] is None  # a histogram does not show them
    in_words = (await tsproxy(capsys, "replay", "--decisions", tmp_path, *stricter)).out
    assert f"2 of {sent} records would be rejected; 0 more" in in_words
    assert re.search(r" 2 +\? +0 +", in_words)
    assert f"0 of {sent} records would be rejected, 0 of them at fault" in as_it_was.out
    assert as_it_was.status == 0


async def test_lines_that_cannot_be_read_are_counted_and_the_others_judged(tmp_path, capsys):
    (tmp_path / "decisions-1.jsonl").write_text(
        '{"v": 1, "event": "coun\nnull\n[1]\n' + json.dumps({"v": 99})
    )

    found = (await tsproxy(capsys, "replay", "--decisions", tmp_path, "--json")).json

    assert (found["files"], found["unreadable_lines"], found["lines"]) == (1, 4, [])


async def test_a_folder_without_a_log_is_a_sentence_and_status_1(tmp_path, capsys):
    result = await tsproxy(capsys, "replay", "--decisions", tmp_path)

    assert result.status == 1
    assert "holds no decision log" in result.err
