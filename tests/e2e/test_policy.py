"""Each example of policy.md, as it stands there, between a client and a real broker without limits."""

import asyncio
import re
from contextlib import asynccontextmanager
from pathlib import Path

from aiokafka import AIOKafkaConsumer

from tests.e2e.test_repair import dumped
from tests.e2e.test_topics_of_brokers import committed
from tests.kit.client import connect
from tests.proxy.running import HOST, file_for, page
from tests.proxy.world import PATIENCE_S, until
from tests.session.messages import API_VERSIONS, produce, request
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.model.kafka import ErrorCode
from tsproxy.policy.extended import text as text_of_extended
from tsproxy.proxy.notes import PER_ADDRESS
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire import k00_produce

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
DOCUMENT = (GUIDE / "policy.md").read_text()
EXAMPLES = dict(re.findall(r"^#+ ([^\n]+)$(?:(?!^#+ ).)*?^```yaml\n(.*?)^```$", DOCUMENT, re.M | re.S))
"""The heading above an example, and the example."""
[CUSTOM_RULE, OWN_TEST, *_] = re.findall(
    r"^```python\n(.*?)^```$", (GUIDE / "how-to" / "write-a-rule.md").read_text(), re.M | re.S
)
VERSION = 8
OF_JAVA = b"\x12apache-kafka-java\x064.0.0\x00"
"""The client's library, as ApiVersions v3 names it (KIP-511)."""
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
OK, BAD = ErrorCode.NONE, ErrorCode.INVALID_TIMESTAMP


def now_ms():
    return Clock().now_ms()


def proxy_of(example, kafka, folder, **environment):
    return proxy_by(EXAMPLES[example], kafka, folder, **environment)


@asynccontextmanager
async def proxy_by(policy, kafka, folder, **environment):
    file = file_for(kafka, folder, more=policy)
    async with RunningProxy(config=file, environment=environment) as proxy:
        yield proxy


async def sent(proxy, topic, *timestamps_ms, client_id="app", before=(), attributes=0, software=b""):
    """The answer to one batch: (error code, the text of its first bad record). `before` are the times of a
    batch that goes before it ten times, and shows the fast path what it may forward."""
    async with await connect(proxy.bootstrap_servers) as client:
        if software:
            await client.frame(request(API_VERSIONS, 3, software, client_id=client_id))
        for times in [*[before] * (10 if before else 0), timestamps_ms]:
            records = batch(times, attributes=attributes)
            asked = produce({topic: {0: records}}, version=VERSION, client_id=client_id)
            answer = await client.frame(asked)
    said = k00_produce.read_response(VERSION, answer[4:]).topics[0].partitions[0]
    return said.error_code, said.record_errors[0].message if said.record_errors else None


def decided(proxy, **facts):
    """The decisions of which all that is true."""
    lines = [line for line in proxy.decisions() if line["event"] == "decision"]
    return [line for line in lines if facts.items() <= line.items()]


async def test_which_rule_decides(kafka_391, tmp_path):
    topics = ("orders-changelog", "orders-repartition", "orders-eu", "orders-asia")
    for topic in topics:
        await kafka_391.create_topic(topic)
    async with proxy_of("Internal topics", kafka_391, tmp_path) as proxy:
        ages = [now_ms() - age_ms for age_ms in (2 * HOUR_MS, 2 * DAY_MS, 8 * DAY_MS)]
        found = {topic: [(await sent(proxy, topic, old_ms))[0] for old_ms in ages] for topic in topics}
        by_java, _ = await sent(proxy, "orders-eu", ages[0], software=OF_JAVA)
    assert found == {
        "orders-changelog": [OK, OK, BAD],
        "orders-repartition": [OK, OK, OK],
        "orders-eu": [OK, BAD, BAD],
        "orders-asia": [OK, BAD, BAD],
    }
    assert by_java == BAD
    assert [line["client_software"] for line in decided(proxy, rule="shop")] == ["apache-kafka-java/4.0.0"]
    assert len(decided(proxy, rule="changelogs")) == 1


async def test_topics_that_only_brokers_write(kafka_391, topic, tmp_path):
    """The broker, too, answers so to all but `__admin_client`, and no record is stored."""
    await kafka_391.create_topic(topic)
    await committed(kafka_391, topic)
    tool = EXAMPLES["Topics that only brokers write"]
    others = (tool, "rejected"), (tool.replace("10.0.0.7/32", "127.0.0.1/32"), "broker_rejected")
    for policy, verdict in others:
        async with proxy_by(policy, kafka_391, tmp_path) as proxy:
            code, _ = await sent(proxy, "__consumer_offsets", now_ms())
        assert code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert [line["verdict"] for line in proxy.decisions() if line["event"] == "counters"] == [verdict]


async def test_modes(kafka_391, tmp_path):
    await kafka_391.create_topic("payments-modes")
    await kafka_391.create_topic("modes")
    async with proxy_of("Modes", kafka_391, tmp_path) as proxy:
        ahead_ms = now_ms() + 2 * HOUR_MS
        assert (await sent(proxy, "payments-modes", ahead_ms))[0] == BAD
        assert (await sent(proxy, "payments-modes", ahead_ms, client_id="archive"))[0] == BAD  # a claim
        assert (await sent(proxy, "modes", now_ms(), ahead_ms * 1_000))[0] == OK
    assert (
        len(decided(proxy, topic="payments-modes", verdict="rejected", rule="payments", mode="enforce")) == 2
    )
    [audited] = decided(proxy, topic="modes", verdict="accepted", would_reject=True, rule="everybody")
    assert (audited["reason"], audited["unit_guess"]) == ("too_far_ahead", "microseconds")
    assert (audited["bad_index"], audited["bad_ts"]) == ([1], [ahead_ms * 1_000])
    assert len(decided(proxy)) == 3


async def test_limits(kafka_391, tmp_path):
    await kafka_391.create_topic("limits")
    await kafka_391.create_topic("legacy-limits")
    async with proxy_of("Limits", kafka_391, tmp_path) as proxy:
        assert (await sent(proxy, "limits", now_ms() + 5 * 60_000))[0] == OK
        assert (await sent(proxy, "limits", now_ms() + 11 * 60_000))[0] == BAD
        assert (await sent(proxy, "limits", now_ms() - 8 * DAY_MS))[0] == BAD
        assert (await sent(proxy, "legacy-limits", now_ms() - 8 * DAY_MS))[0] == OK
        code, text = await sent(proxy, "legacy-limits", now_ms() + 2 * HOUR_MS)
    assert code == BAD
    assert text == "Timestamp of the message with offset 0 is ahead of the broker's current time."


async def test_the_candidate(kafka_391, tmp_path):
    await kafka_391.create_topic("candidate")
    async with proxy_of("Candidate limits", kafka_391, tmp_path) as proxy:
        counted = re.compile(r'tsproxy_candidate_bad_records_total{reason="too_far_ahead",unit=""} [1-9]')
        async with asyncio.timeout(PATIENCE_S):
            # A candidate is measured against the topic's own limits, which must be read first.
            while not counted.search((await page(proxy.admin_address, "/metrics"))[1]):
                assert (await sent(proxy, "candidate", now_ms() + 6 * 60_000))[0] == OK
        for _ in range(PER_ADDRESS.burst + 5):
            assert (await sent(proxy, "candidate", now_ms() + 6 * 60_000))[0] == OK
    told = [line for line in proxy.log if line["event"] == "record_far_ahead"]
    assert {(line["topic"], line["client"], line["client_id"]) for line in told} == {
        ("candidate", HOST, "app")
    }
    assert PER_ADDRESS.burst <= len(told) < PER_ADDRESS.burst + 5
    assert decided(proxy, topic="candidate", verdict="accepted", would_reject=True, rule="candidate")


async def test_no_time_zero_and_negative_times(kafka, tmp_path):
    await kafka.create_topic("values")
    async with proxy_of("Missing, zero and negative timestamps", kafka, tmp_path) as proxy:
        for value in (-1, 0, -5, -(2**62)):
            assert (await sent(proxy, "values", 1))[0] == OK
            assert (await sent(proxy, "values", value))[0] == BAD
    reasons = [line["reason"] for line in decided(proxy, verdict="rejected")]
    assert reasons == ["missing", "too_old", "negative", "negative"]


async def test_times_before_1970(kafka, tmp_path):
    await kafka.create_topic(
        "archive-moon", config={"retention.ms": "-1"}
    )  # such old records would be deleted
    none_ms, landing_ms, bit_6 = -(2**63), -14_182_916_000, 0x40
    async with proxy_of("Timestamps before 1970", kafka, tmp_path) as proxy:
        times = (landing_ms, none_ms, 0)
        good = (1, 2)  # batches without the bit go by natively, and must not take one with it along
        assert await sent(proxy, "archive-moon", *times, before=good, attributes=bit_6) == (OK, None)
        code, text = await sent(proxy, "archive-moon", landing_ms, -1, attributes=bit_6)
    assert (code, text) == (BAD, text_of_extended(1))
    batches, records = await dumped(kafka, "archive-moon")
    assert [int(each["CreateTime"]) for each in records][-3:] == [landing_ms, -1, 0]
    assert {(each["isvalid"], each["deleteHorizonMs"]) for each in batches} == {
        ("true", "OptionalLong.empty")
    }
    assert len(decided(proxy, verdict="rejected", rule="archive", reason="negative")) == 1


async def test_the_unit(kafka_391, tmp_path):
    await kafka_391.create_topic("units")
    async with proxy_of("Wrong time units", kafka_391, tmp_path) as proxy:
        _, nanoseconds = await sent(proxy, "units", now_ms() * 1_000_000 + 1)
        _, milliseconds = await sent(proxy, "units", (now_ms() // 1000 * 1000 + 7) * 1000 * 1000)
    end = r": divide by 1,000,000; that would be 2\d{3}-.*Z\)$"
    assert re.search(rf" \(looks like nanoseconds{end}", nanoseconds)
    assert re.search(rf" \(looks like milliseconds times 1,000 twice{end}", milliseconds)
    assert decided(proxy, unit_guess="milliseconds_times_1000_twice", verdict="rejected")


async def test_repair(kafka_391, tmp_path):
    await kafka_391.create_topic("sensors-repair")
    async with proxy_of("Repair", kafka_391, tmp_path) as proxy:
        assert (await sent(proxy, "sensors-repair", now_ms() * 1_000))[0] == OK
        assert (await sent(proxy, "sensors-repair", -1))[0] == OK
        assert (await sent(proxy, "sensors-repair", now_ms() + 2 * HOUR_MS))[0] == BAD
    assert len(decided(proxy, verdict="repaired", rule="sensors", unit_guess="microseconds")) == 1
    assert len(decided(proxy, verdict="repaired", rule="sensors", reason="missing")) == 1
    assert len(decided(proxy, verdict="rejected", rule="sensors", reason="too_far_ahead")) == 1


async def test_dead_letters(kafka_391, tmp_path):
    await kafka_391.create_topic("orders-dead", partitions=2)
    await kafka_391.create_topic("tsproxy.dead-letters")
    async with proxy_of("Dead letters", kafka_391, tmp_path) as proxy:
        bad_ms = now_ms() * 1_000
        assert (await sent(proxy, "orders-dead", now_ms(), bad_ms))[0] == BAD
        async with AIOKafkaConsumer(
            "tsproxy.dead-letters",
            bootstrap_servers=kafka_391.bootstrap_servers,
            auto_offset_reset="earliest",
        ) as consumer:
            async with asyncio.timeout(PATIENCE_S):
                letter = await consumer.getone()
    headers = dict(letter.headers)
    assert (letter.key, letter.value) == (b"k", b"v")
    assert headers["tsproxy-original-topic"] == b"orders-dead"
    assert headers["tsproxy-original-timestamp"] == b"%d" % bad_ms
    assert headers["tsproxy-unit-guess"] == b"microseconds"
    assert (headers["tsproxy-rule"], headers["tsproxy-client-id"]) == (b"orders", b"app")
    table = {name for row in re.findall(r"^\| (`tsproxy-.*?) \|", DOCUMENT, re.M) for name in row.split(", ")}
    assert {f"`{name}`" for name in headers} | {"`tsproxy-principal`"} == table


async def test_the_clock(kafka_391, tmp_path):
    await kafka_391.create_topic("tsproxy.clock", config={"message.timestamp.type": "LogAppendTime"})
    await kafka_391.create_topic("by-the-clock")
    measured = re.compile(r'^tsproxy_clock_offset_seconds{broker="1"} (\S+)$', re.M)
    async with proxy_of("The proxy's clock", kafka_391, tmp_path) as proxy:

        async def offset():
            return measured.search((await page(proxy.admin_address, "/metrics"))[1])

        found = await until(offset, "the broker's clock is measured")
        assert (await sent(proxy, "by-the-clock", now_ms() + HOUR_MS))[0] == BAD
    assert abs(float(found[1])) < 2  # one machine, one clock


async def test_waivers(kafka_391, tmp_path):
    await kafka_391.create_topic("waivers")
    await kafka_391.create_topic("backfill-waivers")
    async with proxy_of("Waivers", kafka_391, tmp_path) as proxy:
        assert (await sent(proxy, "waivers", now_ms() - 2 * DAY_MS))[0] == BAD
        old_ms = now_ms() - 2 * DAY_MS
        good = (now_ms(),)
        assert (await sent(proxy, "backfill-waivers", old_ms, before=good))[0] == OK
    assert len(decided(proxy, verdict="accepted", would_reject=True, waiver="backfill", rule="recent")) == 1


def install(folder, code):
    """The document's rule as a package would bring it."""
    metadata = folder / "in_order-1.0.dist-info"
    metadata.mkdir()
    (folder / "in_order.py").write_text(code)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: in-order\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tsproxy.rules]\nin-order = in_order:InOrder\n")


async def test_a_rule_of_your_own(kafka_391, tmp_path):
    """Bounds cannot say it, so the fast path never passes it: the last batch is read as the first."""
    install(tmp_path, CUSTOM_RULE)
    await kafka_391.create_topic("clicks")
    async with proxy_of("Custom rules", kafka_391, tmp_path, PYTHONPATH=str(tmp_path)) as proxy:
        first_ms = now_ms()
        good = (first_ms, first_ms - 600_000)
        assert await sent(proxy, "clicks", *good, before=good) == (OK, None)
        told = await sent(proxy, "clicks", first_ms, first_ms - 600_001, before=good)
    assert told == (BAD, "600001 ms older than a record before it")
    assert decided(proxy, topic="clicks", rule="clicks-in-order", reason="custom_rule", verdict="rejected")


RAISES = """\
class InOrder:
    def culprits(self, timestamps_ms, context):
        raise LookupError(context.topic)
"""
BOTH_WAYS = """\
policy:
  rules:
    - { name: shut, match: { topics: [failing-shut] }, rule: in-order }
    - { name: open, match: { topics: [failing-open] }, rule: in-order, fail: open }
"""


async def test_a_rule_of_your_own_that_raises_is_contained_counted_and_handled_as_configured(
    kafka_391, tmp_path
):
    install(tmp_path, RAISES)
    await kafka_391.create_topic("failing-shut")
    await kafka_391.create_topic("failing-open")
    async with proxy_by(BOTH_WAYS, kafka_391, tmp_path, PYTHONPATH=str(tmp_path)) as proxy:
        assert await sent(proxy, "failing-shut", now_ms()) == (ErrorCode.INVALID_RECORD, None)
        assert await sent(proxy, "failing-open", now_ms(), before=(now_ms(),)) == (OK, None)
        _, metrics = await page(proxy.admin_address, "/metrics")
    assert "tsproxy_rule_failures_total 12.0" in metrics
    [told, *_] = [line for line in proxy.log if line["event"] == "rule_failed"]
    assert (told["rule"], told["error"], told["fail"]) == ("shut", "LookupError at in_order.py:3", "closed")
    assert [line["reason"] for line in decided(proxy, verdict="rejected")] == ["custom_rule"]
    assert (await kafka_391.end_offsets("failing-open"))[0] == 11
    assert (await kafka_391.end_offsets("failing-shut"))[0] == 0


def test_every_example_is_tried():
    tried = {
        "Internal topics",
        "Topics that only brokers write",
        "Modes",
        "Limits",
        "Candidate limits",
        "Missing, zero and negative timestamps",
    }
    tried |= {"Wrong time units", "Waivers", "Repair", "Dead letters", "Custom rules"}
    tried |= {
        "Compressed batches",
        "Clients without a principal",
    }  # in test_adaptive.py and test_principals.py
    assert set(EXAMPLES) == tried | {"Timestamps before 1970", "The proxy's clock"}
    assert len(EXAMPLES) == DOCUMENT.count("```yaml\n")
