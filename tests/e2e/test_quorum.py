"""DescribeQuorum v2 names the controllers' addresses (KIP-853): a client of the proxy does not get them."""

import pytest

from tests.attacks.attacker import answer_to, port_of
from tests.full_only import BOTH_BROKERS
from tests.session.messages import request
from tests.wire.entities import read
from tests.wire.test_k55_describe_quorum import RESPONSE
from tsproxy.testing.proxy import RunningProxy

DESCRIBE_QUORUM = 55
TOPIC = b"__cluster_metadata"
ASKED = request(
    DESCRIBE_QUORUM, 2, b"\x02" + bytes([len(TOPIC) + 1]) + TOPIC + b"\x02" + bytes(4) + b"\x00" + b"\x00\x00"
)

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("kafka", BOTH_BROKERS, indirect=True)]


async def quorum(port):
    return read(RESPONSE, (await answer_to(port, ASKED))[5:])


def listeners_of(described):
    return {node.node_id: node.listeners for node in described.nodes}


async def test_controllers_keep_their_ids_and_have_no_listeners(kafka, tmp_path):
    config = tmp_path / "tsproxy.yaml"
    config.write_text(
        f"upstream: {{ bootstrap_servers: ['{kafka.bootstrap_servers}'] }}\n"
        "listeners: [{ bind: '127.0.0.1:0', addresses_in_configs: pass }]\n"
    )
    direct = await quorum(int(kafka.bootstrap_servers.rpartition(":")[2]))
    assert all(listeners_of(direct).values())
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        masked = await quorum(port_of(proxy))
    async with RunningProxy(config=config) as proxy:
        shown = await quorum(port_of(proxy))
    assert listeners_of(masked) == dict.fromkeys(listeners_of(direct), ())
    assert [topic.partitions[0].leader_id for topic in masked.topics] == [1]
    assert listeners_of(shown) == listeners_of(direct)
