"""A broker that rejects a change of its listeners quotes them: a client of the proxy does not get these
texts."""

import struct

import pytest

from tests.attacks.attacker import answer_to, port_of
from tests.full_only import BOTH_BROKERS
from tests.session.messages import request
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire.k33_k44_alter_configs import REPLACEMENT

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("kafka", BOTH_BROKERS, indirect=True)]

BROKER, SET, VALIDATE_ONLY = 4, b"\x00", b"\x01"
KEY, VALUE = b"listener.security.protocol.map", b"FOO:SSL"


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
async def test_a_brokers_listeners_in_an_error_text_reach_no_client(kafka, tmp_path, api_key):
    config = tmp_path / "tsproxy.yaml"
    config.write_text(
        f"upstream: {{ bootstrap_servers: ['{kafka.bootstrap_servers}'] }}\n"
        "listeners: [{ bind: '127.0.0.1:0', addresses_in_configs: pass }]\n"
    )
    address = kafka.bootstrap_servers
    code, direct = await error_of(int(address.rpartition(":")[2]), api_key)
    assert code
    assert f"://{address}" in direct, "the broker does not quote its listeners any more"

    async with RunningProxy(address) as proxy:
        assert await error_of(port_of(proxy), api_key) == (code, REPLACEMENT)
    async with RunningProxy(config=config) as proxy:
        assert await error_of(port_of(proxy), api_key) == (code, direct)
