"""Clients are offered what the brokers offer, but for the rows of a table in transparency.md, if any.

A Produce request in a version that the broker behind does not take closes, there and through the proxy.
"""

import asyncio
import contextlib
import re
import struct
from pathlib import Path

import pytest
from kio.index import load_response_schema

from rigs.differential.message_sets import Message, write_message
from tests.attacks.attacker import HOST, answer_to, port_of
from tests.full_only import BOTH_BROKERS, variations
from tests.kit.client import connect
from tests.proxy.world import until
from tests.session.messages import produce, request
from tests.wire.batches import batch
from tests.wire.entities import read
from tsproxy.clock import Clock
from tsproxy.model.kafka import ApiKey
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire.apis import APIS

HOUR_MS = 3_600_000
VERSIONS = range(APIS[0].max_version + 1)
REJECTED_HERE = {"policy.limits_from": "config", "policy.defaults.message.timestamp.after.max.ms": "1h"}
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)

DOCS = Path(__file__).parents[2] / "docs" / "evidence"
VERSION = 4
ASKED = request(ApiKey.API_VERSIONS, VERSION, b"\x05test\x021\x00")

pytestmark = pytest.mark.broker


def rejected(topic, version):
    """All that is in it is rejected by the proxy: nothing of it would ever come to a broker."""
    at_ms = Clock().now_ms() + 2 * HOUR_MS
    records = batch([at_ms]) if version > 2 else write_message(Message(1, at_ms))
    return produce({topic: {0: records}}, version=version)


async def taken(port, topic):
    """The versions that are answered, where the client does not ask what is offered."""
    return [v for v in VERSIONS if await answer_to(port, rejected(topic, v)) is not None]


async def taken_when_asked(port, topic):
    """The same on connections whose client asks first, and does not heed it."""
    return [v for v in VERSIONS if await both_answered(port, API_VERSIONS, rejected(topic, v))]


async def both_answered(port, *requests):
    async with await connect(f"{HOST}:{port}") as client:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            for each in requests:
                await client.frame(each)
            return True
    return False


@pytest.mark.parametrize("kafka", BOTH_BROKERS, indirect=True)
async def test_what_the_broker_closes_at_the_proxy_closes_at(kafka, topic):
    """Produce 12 to a 3.9.1 broker had an answer where all of it was rejected; Produce 2 to a 4.x broker was
    judged for minutes."""
    await kafka.create_topic(topic)
    direct = await taken(int(kafka.bootstrap_servers.rpartition(":")[2]), topic)
    assert direct in ([*range(12)], [*range(3, 14)])
    async with RunningProxy(kafka.bootstrap_servers, settings=REJECTED_HERE) as proxy:
        assert await taken_when_asked(port_of(proxy), topic) == direct

        async def is_known():
            return await answer_to(port_of(proxy), rejected(topic, 12 if 12 not in direct else 2)) is None

        await until(is_known, "the proxy has asked the broker itself")
        assert await taken(port_of(proxy), topic) == direct
        assert await taken_when_asked(port_of(proxy), topic) == direct
    reasons = {line.get("reason") for line in proxy.log if line["event"] == "client_rejected"}
    assert reasons == {"unsupported_request"}


async def offered(port):
    """(API key -> (oldest, newest), the features with their levels)"""
    answer = read(load_response_schema(ApiKey.API_VERSIONS, VERSION), (await answer_to(port, ASKED))[4:])
    features = {*answer.supported_features, *answer.finalized_features}
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}, features


def narrowed_by_the_document(release):
    """API -> (what the broker offers, what the proxy offers; None for nothing), by the table."""
    text = (DOCS / "transparency.md").read_text(encoding="utf-8")
    section = text.partition("\n## API versions\n")[2].partition("\n## ")[0]
    rows = re.findall(
        r"^\| ([\d.]+) \| (\w+) \| (\d+) to (\d+) \| (?:(\d+) to (\d+)|nothing) \| .+ \|$", section, re.M
    )
    assert section
    assert len(rows) == max(0, sum(line.startswith("| ") for line in section.splitlines()) - 2)
    return {
        name: ((int(oldest), int(newest)), (int(first), int(last)) if first else None)
        for broker, name, oldest, newest, first, last in rows
        if broker == release
    }


NOT_AT_AN_END = "the release between those at both ends, which test_schemas.py compares with its schemas"


@pytest.mark.parametrize(
    "kafka",
    variations(NOT_AT_AN_END, ["kafka_440", "kafka_431", "kafka_391"], but=["kafka_440", "kafka_391"]),
    indirect=True,
)
async def test_only_what_the_document_lists_is_not_offered(kafka):
    direct, features = await offered(int(kafka.bootstrap_servers.rpartition(":")[2]))
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        through, features_through = await offered(port_of(proxy))
    names = {key: api.name for key, api in APIS.items()}
    narrowed = {
        names.get(key, str(key)): (versions, through.get(key))
        for key, versions in direct.items()
        if through.get(key) != versions
    }
    assert narrowed == narrowed_by_the_document(kafka.version)
    assert through.keys() <= direct.keys()
    assert features_through == features
