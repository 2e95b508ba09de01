"""Requests that are new in Kafka 4.4 are answered through the proxy as without it, byte for byte."""

import re

import pytest

from tests.attacks.attacker import answer_to, port_of
from tests.session.messages import API_VERSIONS, request
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire.apis import APIS

pytestmark = pytest.mark.broker

KEYS = {api.name: key for key, api in APIS.items()}
END = b"\x00"
"""No tagged fields."""
REBOOTSTRAP_REQUIRED, CONTROLLER_ID_NOT_REGISTERED = 129, 136
EPOCH = re.compile(rb"\x01\x08.{8}(?=\x02)", re.DOTALL)
"""FinalizedFeaturesEpoch of an ApiVersions answer. It grows with each topic that another test makes."""


def string(text):
    return bytes([len(text) + 1]) + text.encode()


def array(*items):
    return bytes([len(items) + 1]) + b"".join(items)


def int16(number):
    return number.to_bytes(2, "big", signed=True)


def int32(number):
    return number.to_bytes(4, "big", signed=True)


def int64(number):
    return number.to_bytes(8, "big", signed=True)


NULL = b"\x00"
OFFSET = int32(0) + int64(5) + int32(-1) + NULL + END
NO_STRUCT = b"\xff"
HEARTBEAT_OF_A_STRANGER = (
    string("no-such-group") + string("m") + int32(1) + int32(0) + NULL * 2 + int32(-1)
    + NO_STRUCT + NULL * 4 + NO_STRUCT + NULL * 3 + b"\x00" + END
)  # fmt: skip
NEW = {
    ("TxnOffsetCommit", 6): string("t") + string("g") + int64(1) + int16(0) + int32(-1) + string("") + NULL
    # A topic by its id (KIP-1319), which no topic has:
    + array(b"i" * 16 + array(OFFSET) + END) + END,
    ("DeleteGroups", 3): array(string("no-such-group")) + END,
    ("StreamsGroupHeartbeat", 1): HEARTBEAT_OF_A_STRANGER,
    ("StreamsGroupDescribe", 1): array(string("no-such-group")) + b"\x00" + b"\x01" + END,
    ("StreamsGroupTopologyDescriptionUpdate", 0): string("no-such-group") + string("m") + int32(0)
    + array() + array() + END + END,
    ("UnregisterController", 0): int32(99) + END,
}  # fmt: skip


@pytest.fixture
async def both(kafka_440):
    """The ports of a broker and of a proxy before it."""
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        yield kafka_440.node(1).port, port_of(proxy)


async def test_new_requests_are_answered_as_by_the_broker(both):
    direct, through = both
    for (name, version), body in NEW.items():
        asked = request(KEYS[name], version, body)
        first, answer, second = [await answer_to(port, asked) for port in (direct, through, direct)]
        assert first is not None, name
        # Between the two, the coordinator of the group may have come up: another test asked for one.
        assert answer in (first, second), name
        assert name != "UnregisterController" or int16(CONTROLLER_ID_NOT_REGISTERED) in answer


async def test_a_client_learns_that_it_has_come_to_another_cluster_or_node(both, kafka_440):
    """KIP-1242: a client of ApiVersions 5 names the cluster and the node that it means."""
    direct, through = both
    cluster_id = await cluster_of(direct)
    for name, node_id, code in (
        (cluster_id, 1, 0),
        ("another cluster", 1, REBOOTSTRAP_REQUIRED),
        (cluster_id, 2, REBOOTSTRAP_REQUIRED),
    ):
        body = string("test") + string("1") + string(name) + int32(node_id) + END
        asked = request(API_VERSIONS, 5, body)
        answers = [await answer_to(port, asked) for port in (direct, through, direct)]
        assert {answer[4:6] for answer in answers} == {int16(code)}
        epochs = [EPOCH.findall(answer) for answer in answers]
        assert epochs == sorted(epochs)
        assert len(epochs[0]) == (code == 0)
        assert len({EPOCH.sub(b"", answer) for answer in answers}) == 1


async def cluster_of(port):
    """Metadata v9 of no topic: behind the brokers stands the name of the cluster."""
    answer = await answer_to(port, request(KEYS["DescribeCluster"], 0, b"\x00" + END))
    size = answer[12] - 1
    return answer[13 : 13 + size].decode()
