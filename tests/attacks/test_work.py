"""No bytes make the loop work much longer than it took to receive them.

Bytecodes are counted, not milliseconds (`steps`). Each attack is as large as it takes to be seen, no larger.
"""

import struct

import pytest

from tests.attacks.steps import A_BYTE, AT_ONCE, bytecodes
from tests.session.conversation import NOW_MS, PEER, view_of
from tests.session.messages import (
    API_VERSIONS,
    FIND_COORDINATOR,
    METADATA,
    PRODUCE,
    SASL_AUTHENTICATE,
    answer,
    frame,
    request,
)
from tests.wire.batches import unsigned
from tsproxy.session.effects import CloseReason, CloseSession
from tsproxy.session.session import Session
from tsproxy.wire.primitives import MOST_TAGS, MOST_TAGS_TOGETHER, DecodeError, Reader

DESCRIBE_CONFIGS = 32


def session(**view):
    return Session(PEER, view_of(**view), uses_kernel=True)


def is_cheap(count, received):
    """`received` in bytes. A fixed part is left out: a small request costs more than its bytes."""
    return count <= AT_ONCE + A_BYTE * received


def ending(effects):
    return next((effect.reason for effect in effects if isinstance(effect, CloseSession)), None)


def tags(count):
    """A section of so many fields, all of them empty."""
    return unsigned(count) + b"\x00\x00" * count


def headed(api_key, version, section):
    """A request whose header has that section."""
    return frame(api_key.to_bytes(2) + version.to_bytes(2) + bytes(4) + b"\xff\xff" + section)


@pytest.mark.parametrize(
    ("api_key", "version"), [(PRODUCE, 9), (METADATA, 12), (API_VERSIONS, 3), (SASL_AUTHENTICATE, 2)]
)
def test_tagged_fields_of_a_header_are_not_walked_without_end(api_key, version):
    attack = headed(api_key, version, tags(200_000))
    effects, count = bytecodes(session().client_bytes, attack, NOW_MS)

    assert ending(effects) is CloseReason.BAD_FRAME
    assert count < 5_000


def test_as_many_tagged_fields_as_are_allowed_are_read():
    assert Reader(tags(MOST_TAGS)).tags(is_flexible=True) == tags(MOST_TAGS)
    with pytest.raises(DecodeError, match="101 tagged fields"):
        Reader(tags(MOST_TAGS + 1)).tags(is_flexible=True)


def test_many_small_sections_have_a_bound_together():
    reader = Reader(tags(MOST_TAGS) * 1_000)
    for _ in range(MOST_TAGS_TOGETHER // MOST_TAGS):
        reader.tags(is_flexible=True)
    with pytest.raises(DecodeError):
        reader.tags(is_flexible=True)


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (PRODUCE, 9, b"\x01" + bytes(4) + tags(200_000)),
        (
            FIND_COORDINATOR,
            4,
            bytes(4) + b"\x02\x02k" + b"\xff" * 4 + b"\x01" + bytes(6) + b"\x00" + tags(200_000),
        ),
    ],
)
def test_tagged_fields_of_a_brokers_answer_are_not_walked_without_end(api_key, version, body):
    one = session()
    asked = b"\x00\xff\xff" + bytes(4) + b"\x01\x00" if api_key == PRODUCE else b"\x00\x01\x00"
    one.client_bytes(request(api_key, version, asked), NOW_MS)
    effects, count = bytecodes(one.broker_bytes, answer(api_key, version, body), NOW_MS)

    assert ending(effects) is CloseReason.BAD_ANSWER
    assert count < 8_000


@pytest.mark.parametrize("body", [struct.pack(">i", 200_000) + b"\x02\x00\x00" + bytes(4) * 200_000])
def test_a_request_for_the_configurations_of_very_much_is_not_walked_without_end(body):
    attack = request(DESCRIBE_CONFIGS, 1, body)
    effects, count = bytecodes(session().client_bytes, attack, NOW_MS)

    assert ending(effects) is None
    assert is_cheap(count, len(attack))
