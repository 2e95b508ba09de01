"""`tsproxy scan` against real brokers with real bad topics."""

import asyncio
import struct
import time

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.protocol.metadata import MetadataResponse_v1

from tests.full_only import BOTH_BROKERS
from tests.kit.broker import ScriptedBroker
from tests.offline.commands import tsproxy
from tests.offline.documented import example, words
from tests.session.messages import API_VERSIONS, METADATA
from tsproxy.offline.scan.cluster import Answers
from tsproxy.offline.scan.survey import survey
from tsproxy.offline.scan.tables import as_json, as_text
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.wire.k02_list_offsets import PartitionOffset

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LONG_MAX = 2**63 - 1
ANY_TIME = {"message.timestamp.after.max.ms": str(LONG_MAX)}


async def fill(kafka, topic, timestamps, **config):
    """A topic with one partition for each list of timestamps, each record a batch of its own."""
    await kafka.create_topic(topic, partitions=len(timestamps), config=ANY_TIME | config)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        for partition, times in enumerate(timestamps):
            for timestamp_ms in times:
                await producer.send_and_wait(topic, b"v", partition=partition, timestamp_ms=timestamp_ms)


async def scan(capsys, kafka, topic, *arguments):
    result = await tsproxy(
        capsys, "scan", "--upstream", kafka.bootstrap_servers, "--topics", topic, *arguments
    )
    assert result.err == ""
    return result


async def test_only_partitions_whose_newest_timestamp_is_ahead_are_found(kafka, topic, capsys):
    now_ms = time.time_ns() // 1_000_000
    ahead_ms = now_ms + 30 * DAY_MS
    await fill(kafka, topic, [[now_ms], [now_ms, ahead_ms, now_ms], []])

    found = (await scan(capsys, kafka, topic, "--json")).json

    (one,) = found["findings"]
    assert (one["topic"], one["partition"], one["offset"]) == (topic, 1, 1)
    assert (one["kind"], one["newest_ms"]) == ("ahead", ahead_ms)
    assert one["kept_until_ms"] == ahead_ms + 7 * DAY_MS
    assert one["is_still_taken"] is True
    assert (found["partitions"], found["empty"], found["unread"]) == (3, 1, [])


async def test_a_wrong_unit_is_named_and_the_topic_said_to_reject_it_now(kafka_440, topic, capsys):
    now_ms = time.time_ns() // 1_000_000
    await fill(kafka_440, topic, [[now_ms * 1000]])
    await kafka_440.alter_topic(topic, {"message.timestamp.after.max.ms": str(HOUR_MS)})

    text = (await scan(capsys, kafka_440, topic)).out

    assert "microseconds" in text
    assert "the topic rejects such records now" in text
    assert "1 ahead, 0 expired, 0 in order, 0 without a timestamp, 0 empty, 0 not read" in text


@pytest.mark.parametrize(
    ("settings", "words", "is_still_taken"),
    [
        (ANY_TIME, "the topic accepts more of them", True),
        ({"message.timestamp.after.max.ms": str(HOUR_MS)}, "the topic rejects such records now", False),
        (
            ANY_TIME | {"message.timestamp.type": "LogAppendTime"},
            "brokers write their own time into new records",
            False,
        ),
        (None, "the topic's configuration may not be read", None),
    ],
)
def test_what_happens_to_such_a_record_today_follows_from_the_topics_settings(
    settings, words, is_still_taken
):
    newest = (PartitionOffset("t", 0, 0, 30 * DAY_MS, 7),)
    answers = Answers("c", 1, 1, newest, frozenset(), (), {("t", 0): settings})

    seen = survey(answers, DAY_MS, HOUR_MS)

    assert as_text(seen, 0, 9).splitlines()[4].endswith(words)
    assert as_json(seen, 0)["findings"][0]["is_still_taken"] is is_still_taken


async def test_records_older_than_retention_are_said_to_go_at_the_next_check(kafka, topic, capsys):
    now_ms = time.time_ns() // 1_000_000
    await fill(kafka, topic, [[now_ms - 8 * DAY_MS], [now_ms - 6 * DAY_MS]])

    (one,) = (await scan(capsys, kafka, topic, "--json")).json["findings"]

    assert (one["partition"], one["kind"]) == (0, "expired")
    assert "deleted at the next check" in one["meaning"]


@pytest.mark.parametrize(
    ("gate", "status"), [("ahead", 3), ("expired", 0), ("any", 3), (None, 0)], ids=lambda it: str(it)
)
async def test_a_gate_trips_with_status_3_for_what_it_names_alone(kafka_440, topic, capsys, gate, status):
    await fill(kafka_440, topic, [[time.time_ns() // 1_000_000 + DAY_MS]])

    result = await scan(capsys, kafka_440, topic, *(["--fail-on", gate] if gate else []))

    assert result.status == status


async def test_the_documented_example_prints_what_the_document_shows(kafka_440, capsys):
    now_ms = time.time_ns() // 1_000_000
    await fill(kafka_440, "demo-clicks", [[now_ms, now_ms, now_ms + 30 * DAY_MS], [now_ms, now_ms * 1000]])
    await fill(kafka_440, "demo-orders", [[now_ms - 8 * DAY_MS], []])
    arguments, shown = example("scan")

    result = await tsproxy(
        capsys, *(kafka_440.bootstrap_servers if each == "127.0.0.1:9092" else each for each in arguments)
    )

    assert words(result.out) == words(shown)


SOON_MS = DAY_MS  # a day after now, unlike all that is less
YEAR_1_MS = -62_135_596_800_000
KEPT = {"retention.ms": "-1"}
ANSWERS = {
    "nothing": ([], {}, "empty"),
    "minus-one": ([-1, -1, -1], {}, "without_timestamp"),
    "year-1": ([YEAR_1_MS], {}, "without_timestamp"),
    "year-1-and-minus-one": ([YEAR_1_MS, -1], {}, "without_timestamp"),
    "zero-and-minus-one": ([-1, 0, -1], KEPT, "in order"),
    "mixed": ([-1, SOON_MS, -1], {}, 1),
    "append-time": ([-1], {"message.timestamp.type": "LogAppendTime"}, "in order"),
    "transaction-of-minus-one": ([-1], {}, "in order"),  # its marker has the broker's time
    "open-transaction-of-minus-one": ([-1], {}, "without_timestamp"),
    "open-transaction": ([-1, SOON_MS], {}, 1),
}
"""Timestamps, configuration -> the count that the partition is in, or the offset of its finding."""


@pytest.fixture(params=BOTH_BROKERS)
def either(request):
    return request.getfixturevalue(request.param)


async def test_each_answer_about_a_newest_timestamp_is_counted_as_what_it_is(either, topic, capsys):
    """Brokers answer offset -1 for an empty partition and for one of year 1, and offset 0 for -1 alone."""
    kafka, now_ms, found, deleting, open_ones = either, time.time_ns() // 1_000_000, {}, [], []
    for name, (timestamps, config, _) in ANSWERS.items():
        own = f"{topic}-{name}"
        times_ms = [now_ms + each if each == SOON_MS else each for each in timestamps]
        if "transaction" in name:
            await fill(kafka, own, [[]])
            writer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=own)
            await writer.start()
            open_ones.append(writer)
            await writer.begin_transaction()
            for time_ms in times_ms:
                await writer.send_and_wait(own, b"v", timestamp_ms=time_ms)
            if not name.startswith("open"):
                await writer.commit_transaction()
                while (await kafka.end_offsets(own))[0] <= len(times_ms):  # noqa: ASYNC110 - no event of it
                    await asyncio.sleep(0.05)  # the marker comes a moment after the answer
        else:
            await fill(kafka, own, [times_ms], **config)
        scanned = (await scan(capsys, kafka, own, "--json")).json
        counts = [each for each in ("empty", "without_timestamp") if scanned[each]]
        deleting += [name] if scanned["retention_ms"] == {own: 7 * DAY_MS} else []
        found[name] = [*(each["offset"] for each in scanned["findings"]), *counts, "in order"][0]
    for writer in open_ones:
        await writer.stop()

    assert found == {name: expected for name, (*_, expected) in ANSWERS.items()}
    assert set(ANSWERS) - set(deleting) == {"zero-and-minus-one", "append-time"}  # kept, or by their own time


async def test_a_timestamp_that_compaction_removed_is_found_no_more(kafka, topic, capsys):
    compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    await kafka.create_topic(topic, config=ANY_TIME | compact)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        for time_ms in (-1, time.time_ns() // 1_000_000 + DAY_MS):
            await producer.send_and_wait(topic, b"v", key=b"k", timestamp_ms=time_ms)
        before = (await scan(capsys, kafka, topic, "--json")).json
        await kafka.alter_topic(topic, {"segment.ms": "1"})
        # The cleaner looks each fifteen seconds, and leaves the newest segment alone. A record begins one if
        # the newest one is older than segment.ms: not so for a second record of the same millisecond.
        while (after := (await scan(capsys, kafka, topic, "--json")).json)["findings"]:
            await producer.send_and_wait(topic, b"v", key=b"k", timestamp_ms=-1)
            await asyncio.sleep(1)

    assert (before["findings"][0]["offset"], after["without_timestamp"]) == (1, 1)
    assert before["retention_ms"] == {}


@pytest.mark.full_only("creates 10,000 partitions: minutes; the tests above scan a few")
@pytest.mark.timeout(900)
async def test_ten_thousand_partitions_take_seconds(capsys):
    """`make test-full`: offline.md says about a second; the bound leaves room for a loaded machine."""
    now_ms = time.time_ns() // 1_000_000
    async with KafkaCluster(heap="1500m") as kafka:
        for number in range(100):
            await kafka.create_topic(f"many-{number}", partitions=100, config=ANY_TIME)
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
            for number in range(100):
                await producer.send_and_wait(
                    f"many-{number}", b"v", partition=7, timestamp_ms=now_ms + DAY_MS
                )
        found = (await tsproxy(capsys, "scan", "--upstream", kafka.bootstrap_servers, "--json")).json

    assert (found["partitions"], len(found["findings"]), found["unread"]) == (10_000, 100, [])
    assert found["took_ms"] < 10_000


VERSIONS = struct.pack(">hi3h", 0, 1, METADATA, 1, 1)
"""The body of ApiVersions from a broker that offers Metadata 1."""
VERSIONS_ONLY = {API_VERSIONS: lambda question: question.answer(VERSIONS), METADATA: lambda _: None}
"""The answers of a broker that closes the connection at Metadata."""


def says(kafka, topic, leaders):
    """A bootstrap server that describes the cluster once, with these leaders, and closes each connection
    at the next question."""
    brokers = [(1, "127.0.0.1", int(kafka.bootstrap_servers.rpartition(":")[2]), None)]
    partitions = [(0, number, leader, [1], [1]) for number, leader in enumerate(leaders)]
    body = MetadataResponse_v1(brokers, 1, [(0, topic, False, partitions)]).encode()
    left = [body]
    told = {METADATA: lambda question: question.answer(left.pop()) if left else None}
    return ScriptedBroker(VERSIONS_ONLY | told)


async def test_a_server_that_does_not_describe_the_cluster_does_not_hide_the_next_one(kafka, topic, capsys):
    """A port that wants a login closes the connection at the first question, after it was opened."""
    await fill(kafka, topic, [[time.time_ns() // 1_000_000 + DAY_MS]])
    async with ScriptedBroker(VERSIONS_ONLY) as server:
        servers = f"{server.bootstrap_servers},{kafka.bootstrap_servers}"
        result = await tsproxy(capsys, "scan", "--upstream", servers, "--topics", topic, "--json")

    assert (result.status, len(result.json["findings"])) == (0, 1)


@pytest.mark.parametrize(("leaders", "findings"), [((1, -1), 1), ((-1, -1), 0)])
async def test_results_are_kept_though_the_bootstrap_server_stops(kafka, topic, capsys, leaders, findings):
    """A partition without a leader is asked for again, and somebody must describe the cluster again."""
    await fill(kafka, topic, [[time.time_ns() // 1_000_000 + DAY_MS]])
    async with says(kafka, topic, leaders) as server:
        result = await tsproxy(capsys, "scan", "--upstream", server.bootstrap_servers, "--json")

    assert result.err == ""
    assert len(result.json["findings"]) == findings
    assert [each["why"] for each in result.json["unread"]] == ["no leader"] * (2 - findings)


async def test_no_broker_is_a_sentence_and_status_1(capsys):
    result = await tsproxy(capsys, "scan", "--upstream", "127.0.0.1:1")

    assert result.status == 1
    assert result.err.startswith("tsproxy: 127.0.0.1:1: ")
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs --upstream or --config"),
        (["--upstream", "nowhere"], "host:port"),
        (["--upstream", "127.0.0.1:1", "--ahead", "soon"], "a duration above zero"),
        (["--upstream", "127.0.0.1:1", "--rows", "0"], "a whole number from 1"),
        (["--upstream", "127.0.0.1:1", "--fail-on", "all"], "invalid choice"),
    ],
)
async def test_a_mistaken_argument_is_a_sentence_and_status_2(capsys, arguments, words):
    result = await tsproxy(capsys, "scan", *arguments)

    assert result.status == 2
    assert words in result.err


async def test_a_pattern_that_fits_no_topic_is_told_with_how_many_there_are(kafka_440, topic, capsys):
    await kafka_440.create_topic(topic)

    result = await tsproxy(capsys, "scan", "--upstream", kafka_440.bootstrap_servers, "--topics", "no-such-*")

    assert result.status == 1
    assert "topics that may be seen fits --topics no-such-*" in result.err
    assert " 0 of " in result.out
