"""Addresses of brokers and controllers in answers: the proxy tells them to clients only if it is to.

DescribeQuorum v2 names the controllers' addresses (KIP-853). A broker that rejects a change of its listeners
quotes them in its text. They stand in its configuration as plain strings.
"""

import struct

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tests.attacks.attacker import HOST, answer_to, port_of
from tests.full_only import BOTH_BROKERS
from tests.proxy.running import file_for
from tests.session.messages import request
from tests.wire.entities import read
from tests.wire.test_k55_describe_quorum import RESPONSE
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire.k33_k44_alter_configs import REPLACEMENT

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("kafka", BOTH_BROKERS, indirect=True)]

DESCRIBE_QUORUM = 55
METADATA_LOG = b"__cluster_metadata"
QUORUM = b"\x02" + bytes([len(METADATA_LOG) + 1]) + METADATA_LOG + b"\x02" + bytes(4) + b"\x00" + b"\x00\x00"
BROKER, SET, VALIDATE_ONLY = 4, b"\x00", b"\x01"
KEY, VALUE = b"listener.security.protocol.map", b"FOO:SSL"


@pytest.fixture
async def ports(kafka, tmp_path):
    """The ports of the broker, of a proxy, and of a proxy that passes addresses."""
    config = file_for(kafka, tmp_path, "{ bind: '127.0.0.1:0', addresses_in_configs: pass }")
    async with RunningProxy(kafka.bootstrap_servers) as masking, RunningProxy(config=config) as passing:
        yield kafka.node(kafka.node_ids[0]).port, port_of(masking), port_of(passing)


def listeners_of(described):
    return {node.node_id: node.listeners for node in described.nodes}


async def test_controllers_keep_their_ids_and_have_no_listeners(ports):
    asked = request(DESCRIBE_QUORUM, 2, QUORUM)
    direct, masked, shown = [read(RESPONSE, (await answer_to(port, asked))[5:]) for port in ports]
    assert all(listeners_of(direct).values())
    assert listeners_of(masked) == dict.fromkeys(listeners_of(direct), ())
    assert [topic.partitions[0].leader_id for topic in masked.topics] == [1]
    assert listeners_of(shown) == listeners_of(direct)


async def test_a_brokers_configuration_does_not_tell_its_addresses(kafka, ports):
    def listeners(port):
        broker = ConfigResource(ResourceType.BROKER, "1")
        admin = AdminClient({"bootstrap.servers": f"{HOST}:{port}"})
        answered = admin.describe_configs([broker])[broker].result(30)
        assert answered["message.max.bytes"].value is not None
        return {name: entry.value for name, entry in answered.items() if name.endswith("listeners")}

    direct, masked, shown = map(listeners, ports)
    assert kafka.bootstrap_servers in direct["advertised.listeners"]
    assert masked == dict.fromkeys(direct)
    assert shown == direct


def text(value):
    return struct.pack(">h", len(value)) + value


def change(api_key):
    """A change of broker 1 that it only validates, in version 0."""
    operation = SET if api_key == 44 else b""
    config = text(KEY) + operation + text(VALUE)
    resource = struct.pack(">ib", 1, BROKER) + text(b"1") + struct.pack(">i", 1) + config
    return request(api_key, 0, resource + VALIDATE_ONLY)


async def error_of(port, api_key):
    """(error code, text) of the one resource in the answer."""
    answer = await answer_to(port, change(api_key))
    code, size = struct.unpack_from(">hh", answer, 4 + 4 + 4)
    return code, answer[16 : 16 + size].decode()


@pytest.mark.parametrize("api_key", [33, 44])
async def test_a_brokers_listeners_in_an_error_text_reach_no_client(kafka, ports, api_key):
    (code, direct), masked, shown = [await error_of(port, api_key) for port in ports]
    assert code
    assert f"://{kafka.bootstrap_servers}" in direct, "the broker does not quote its listeners any more"
    assert masked == (code, REPLACEMENT)
    assert shown == (code, direct)
