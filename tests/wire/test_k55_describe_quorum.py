"""DescribeQuorum without the controllers' addresses, against an independent library's layouts."""

from dataclasses import replace

from hypothesis import given
from kio.index import load_response_schema

from tests.wire.entities import entities, read, written
from tests.wire.strategies import a_few
from tsproxy.wire.k55_describe_quorum import mask_addresses
from tsproxy.wire.primitives import Reader

RESPONSE = load_response_schema(55, 2)


@a_few
@given(entity=entities(RESPONSE))
def test_no_node_has_a_listener_and_all_else_stays(entity):
    masked = mask_addresses(2, Reader(written(entity)))
    nodes = tuple(replace(node, listeners=()) for node in entity.nodes)
    assert masked == written(replace(entity, nodes=nodes))
    assert read(RESPONSE, masked).nodes == nodes


def test_the_answer_of_a_broker():
    """No error, no topics, node 3001 with one listener, and unknown tagged fields, which are kept."""
    told = bytes.fromhex("0000 00 01 02 00000bb9 02 04435452 0862726f6b657231 2385 00 00 01 05 01 78")
    assert mask_addresses(2, Reader(told)) == bytes.fromhex("0000 00 01 02 00000bb9 01 00 01 05 01 78")
