"""Every broker address in an answer becomes the proxy's; nothing else in it changes.

The oracle is kio, generated from Kafka's own schemas.
"""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.entities import addresses_in, each_response, encode, entities, read, with_addresses, written
from tests.wire.strategies import a_few
from tsproxy.model.kafka import ApiKey
from tsproxy.model.view import Endpoint
from tsproxy.wire.addresses import LAYOUTS, NO_NODE, rewrite
from tsproxy.wire.primitives import DecodeError, Reader

each_message = each_response(key for key in LAYOUTS if LAYOUTS[key])


def proxy_of(node_id, host, port):
    """The proxy's address for a node. It depends on all arguments, so that a mix-up is noticed."""
    return Endpoint(f"proxy-{node_id}.example", (port ^ node_id) & 0x7FFFFFFF)


def expected(entity):
    """`entity` as a client must see it: (-1, "", -1) stands for no node and is nobody's address."""

    def address_of(node_id, host, port):
        if node_id == NO_NODE:
            return host, port
        endpoint = proxy_of(node_id, host, port)
        return endpoint.host, endpoint.port

    return with_addresses(entity, address_of)


def without_nowhere(entity):
    """No broker tells a host for node -1; a body that does is rejected."""
    return with_addresses(entity, lambda node, host, port: ("", port) if node == -1 else (host, port))


@each_message
@a_few
@given(data=st.data())
def test_hosts_and_ports_become_the_proxys_and_all_else_stays(api_key, version, cls, data):
    """The map is asked once for each node told, with what the broker said of it."""
    entity = without_nowhere(data.draw(entities(cls)))
    body = written(entity)
    assert encode(entity) == body
    asked = []
    rewritten = rewrite(api_key, version, Reader(body), lambda *node: asked.append(node) or proxy_of(*node))
    assert read(cls, rewritten) == expected(entity)
    assert rewritten == encode(expected(entity))
    assert asked == [address for address in addresses_in(entity) if address[0] != NO_NODE]


TAGS = b"\x02" + b"\x00\x03abc" + b"\xff\xff\xff\xff\x0f\x00"
"""Tag 0 with three bytes, and the highest tag there is with none."""


@each_message
@a_few
@given(data=st.data())
def test_tagged_fields_that_nobody_knows_are_kept_in_every_struct(api_key, version, cls, data):
    entity = without_nowhere(data.draw(entities(cls)))
    assert rewrite(api_key, version, Reader(encode(entity, TAGS)), proxy_of) == encode(expected(entity), TAGS)


@each_message
@a_few
@given(data=st.data())
def test_a_body_cut_short_is_a_decode_error_or_ends_behind_its_last_address(api_key, version, cls, data):
    """A layout ends with the last address: what is cut off behind it, nobody looked at."""
    entity = without_nowhere(data.draw(entities(cls)))
    body, whole = written(entity), encode(expected(entity))
    cut = data.draw(st.integers(0, max(len(body) - 1, 0)))
    with suppress(DecodeError):
        assert whole.startswith(rewrite(api_key, version, Reader(body[:cut]), proxy_of))


# -- Nowhere, and unknown nodes ---------------------------------------------------------------------

NOWHERE = {
    "v0": (0, "000f ffffffff 0000 ffffffff"),
    "v3": (3, "00000000 000f 0468 6579 ffffffff 01 ffffffff 00"),
    "v4": (4, "00000000 02 0267 ffffffff 01 ffffffff 000f 00 00 00"),
}
"""FindCoordinator's COORDINATOR_NOT_AVAILABLE: no node, no host, no port."""


@pytest.mark.parametrize(("version", "body"), NOWHERE.values(), ids=NOWHERE)
def test_no_coordinator_stays_no_coordinator(version, body):
    body = bytes.fromhex(body)
    assert rewrite(ApiKey.FIND_COORDINATOR, version, Reader(body), proxy_of) == body


def test_an_address_without_a_node_is_rejected():
    """Nothing says whose it is, and no address leaves unmapped."""
    body = bytes.fromhex("000f ffffffff 0002 6231 00002384")
    with pytest.raises(DecodeError, match="without a node id"):
        rewrite(ApiKey.FIND_COORDINATOR, 0, Reader(body), proxy_of)
