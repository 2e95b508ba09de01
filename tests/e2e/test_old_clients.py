"""Clients of any age: without ApiVersions, asking for it from the top down, in a hurry; old librdkafka."""

import itertools
import json
import struct
from asyncio import IncompleteReadError
from contextlib import nullcontext

import pytest

from rigs.differential.message_sets import Message, write_message
from tests.kit.client import connect
from tests.proxy.running import page
from tests.session.messages import API_VERSIONS, METADATA, produce
from tsproxy.testing.proxy import RunningProxy

NO_TOPICS = struct.pack(">i", 0)
SOFTWARE = b"\x05libx\x041.2"
KIP_1242 = b"\x00" + b"\xff\xff\xff\xff"  # no cluster, no node: a bootstrap connection
UNSUPPORTED_VERSION = 35


@pytest.fixture
async def proxy(kafka):
    async with RunningProxy(kafka.bootstrap_servers) as it:
        yield it


def offers_in(answer):
    """(error code, {api key: (lowest, highest)}) of an ApiVersions answer of v0."""
    error_code, count = struct.unpack_from(">hi", answer)
    offers = struct.iter_unpack(">3h", answer[6 : 6 + 6 * count])
    return error_code, {key: (lowest, highest) for key, lowest, highest in offers}


async def test_a_client_that_asks_for_no_versions_is_served(proxy):
    """As before Kafka 0.10: Metadata v0 comes first, and says where the broker is: at the proxy."""
    async with await connect(proxy.bootstrap_servers) as client:
        answer = await client.ask(METADATA, 0, NO_TOPICS)
    count, node_id, size = struct.unpack_from(">iih", answer)
    (port,) = struct.unpack_from(">i", answer, 10 + size)
    assert (count, node_id, answer[10 : 10 + size]) == (1, 1, b"127.0.0.1")
    assert port == proxy.facts["brokers"]["default"]["1"]


async def test_versions_are_found_from_the_top_down(kafka, proxy):
    """Each answer names the newest that would be taken; in the end the broker's own is reached."""
    async with await connect(proxy.bootstrap_servers) as client:
        bodies = {99: b"", 5: SOFTWARE + KIP_1242 + b"\x00", 4: SOFTWARE + b"\x00"}
        tried = [99, 5] if kafka.version.startswith("4.4") else [99, 5, 4]
        for version, newest in itertools.pairwise(tried):
            error_code, offers = offers_in(await client.ask(API_VERSIONS, version, bodies[version]))
            assert (error_code, offers) == (UNSUPPORTED_VERSION, {API_VERSIONS: (0, newest)})
        answer = await client.ask(API_VERSIONS, tried[-1], bodies[tried[-1]])
    assert answer[:2] == b"\x00\x00"


async def test_a_client_whose_versions_kafka_4_does_not_take_is_named_before_and_after_the_upgrade(
    kafka, proxy, topic
):
    """KIP-896. A client that uses newer versions beside it is not named."""
    await kafka.create_topic(topic)
    async with await connect(f"127.0.0.1:{proxy.facts['brokers']['default']['1']}") as client:
        old = produce({topic: {0: write_message(Message(0, 0))}}, version=0, client_id="oura")
        with pytest.raises(IncompleteReadError) if kafka.version.startswith("4") else nullcontext():
            await client.frame(old)
    _, top = await page(proxy.admin_address, "/decisions/top")
    assert json.loads(top)["refused_by_kafka_4"] == [
        {
            "client_id": "oura",
            "client_address": "127.0.0.1",
            "api": "Produce",
            "version_min": 0,
            "version_max": 0,
        }
    ]
