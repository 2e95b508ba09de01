"""Answers of Fetch (from version 16 on) and ShareFetch: their bodies, field by field, and their ends."""

import struct
from random import Random

import pytest

from tests.wire.batches import unsigned
from tsproxy.wire.readers import Layout

NO_TAGS = b"\x00"
NO_NODES = b"\x01\x00"


def tags_of(*tagged):
    """A section of tagged fields: (number, bytes) each."""
    fields = (unsigned(number) + unsigned(len(data)) + data for number, data in tagged)
    return unsigned(len(tagged)) + b"".join(fields)


def partition(records=b"", error_code=0, index=0, transactions=None, tags=NO_TAGS):
    """`transactions`: how many were aborted, None for null; `records` may be None, too."""
    aborted = b"".join(struct.pack(">qq", 7, n) + NO_TAGS for n in range(transactions or 0))
    return b"".join(
        [
            struct.pack(">ihqqq", index, error_code, 100, 100, 0),
            unsigned(0 if transactions is None else transactions + 1),
            aborted,
            struct.pack(">i", -1),
            unsigned(0 if records is None else len(records) + 1),
            records or b"",
            tags,
        ]
    )


def fetched(*topics, tail=NO_TAGS, session_id=7):
    """`topics`: a list of partitions each. `tail`: the answer's own tagged fields."""
    bodies = (
        bytes([n] * 16) + unsigned(len(topic) + 1) + b"".join(topic) + NO_TAGS
        for n, topic in enumerate(topics)
    )
    return struct.pack(">ihi", 0, 0, session_id) + unsigned(len(topics) + 1) + b"".join(bodies) + tail


def node_endpoints(*nodes):
    """Tag 0 of a Fetch answer: (node id, host, port) each, without racks."""
    endpoints = (
        struct.pack(">i", node_id)
        + unsigned(len(host) + 1)
        + host.encode()
        + struct.pack(">i", port)
        + b"\x00\x00"
        for node_id, host, port in nodes
    )
    return 0, unsigned(len(nodes) + 1) + b"".join(endpoints)


def share_partition(records=b"", error_code=0, index=0, acquired=1, tags=NO_TAGS):
    """`acquired`: how many ranges of offsets; `records` may be None."""
    return b"".join(
        [
            struct.pack(">ih", index, error_code),
            b"\x05text",
            struct.pack(">h", 0),
            b"\x00",
            struct.pack(">ii", 2, 5) + NO_TAGS,
            unsigned(0 if records is None else len(records) + 1),
            records or b"",
            unsigned(acquired + 1) + (struct.pack(">qqh", 0, 9, 1) + NO_TAGS) * acquired,
            tags,
        ]
    )


def share_fetched(*topics, tail=NO_NODES, version=2):
    """`topics`: a list of partitions each. `tail`: the nodes, and the answer's own tagged fields."""
    bodies = (
        bytes([n] * 16) + unsigned(len(topic) + 1) + b"".join(topic) + NO_TAGS
        for n, topic in enumerate(topics)
    )
    timeout = struct.pack(">i", 30_000) if version else b""
    return struct.pack(">ih", 0, 0) + b"\x00" + timeout + unsigned(len(topics) + 1) + b"".join(bodies) + tail


def share_tail(*nodes, tags=NO_TAGS):
    return node_endpoints(*nodes)[1] + tags


def current_leader(leader_id, leader_epoch):
    """Tag 1 of a partition."""
    return 1, struct.pack(">ii", leader_id, leader_epoch) + NO_TAGS


TAILS = {
    "NodeEndpoints": tags_of(node_endpoints((2, "broker-2.internal", 9092))),
    "many nodes": tags_of(node_endpoints(*((n, f"broker-{n}.internal", 9092) for n in range(300)))),
    "no nodes": tags_of((0, b"\x01")),
    "an empty field": tags_of((0, b"")),
    "a field that nobody knows": tags_of((1, b"broker-2.internal:9092")),
    "both": tags_of(node_endpoints((2, "broker-2.internal", 9092)), (300, b"broker-3.internal")),
    "131 bytes, for which a field needs a longer number": tags_of((0, b"broker-2.internal"), (1, bytes(109))),
}
"""Tails that name brokers, or might: sections of tagged fields that a client must not see."""

SHARE_TAILS = {
    "one node": share_tail((2, "broker-2.internal", 9092)),
    "many nodes": share_tail(*((n, f"broker-{n}.internal", 9092) for n in range(300))),
    "no nodes and a field": share_tail(tags=tags_of((0, b"broker-2.internal:9092"))),
    "no nodes and an empty field": share_tail(tags=tags_of((0, b""))),
    "both": share_tail((2, "broker-2.internal", 9092), tags=tags_of((300, b"broker-3.internal"))),
    "a section of 131 bytes": share_tail((2, "b" * 117, 9092)),
}
"""The same for ShareFetch."""

GARBAGE_SHARE_TAILS = {
    "no count": b"",
    "null": b"\x00\x00",
    "no fields": b"\x01",
    "a byte behind no fields": b"\x01\x00\x00",
    "a node too few": b"\x03" + share_tail((2, "broker-2.internal", 9092))[1:],
    "a byte behind the nodes": share_tail((2, "broker-2.internal", 9092)) + b"\x00",
    "a count without end": b"\xff" * 9,
    "half a node": b"\x02\x00\x00",
    "a host that is null": b"\x02" + bytes(4) + b"\x00" + bytes(4) + b"\x00\x00\x00",
}

GARBAGE_TAILS = {
    "no count": b"",
    "a byte behind no fields": b"\x00\x00",
    "bytes behind no fields": b"\x00\x00\x00broker-2.internal",
    "a field too few": b"\x02" + tags_of(node_endpoints((2, "broker-2.internal", 9092)))[1:],
    "a field that is too long": b"\x01\x00\x7fbroker-2.internal",
    "a byte behind the fields": tags_of(node_endpoints((2, "broker-2.internal", 9092))) + b"\x00",
    "a count without end": b"\xff" * 9,
    "101 fields": tags_of(*((n, b"broker-2.internal") for n in range(101))),
    "a count and nothing": b"\x01",
    "half a field": b"\x01\x00",
}

each_tail = pytest.mark.parametrize(
    ("layout", "tail"),
    [(layout, tail) for layout in Layout for tail in (SHARE_TAILS if layout else TAILS).values()],
)


def any_body(random: Random, layout: Layout = Layout.FETCH) -> bytes:
    """A body as a broker may write it, mostly without a tail that names something."""

    def a_partition():
        records = random.choice([None, b"", random.randbytes(30), random.randbytes(200)])
        error_code, index = random.choice([0, 6]), random.randrange(9)
        several = random.choice([None, None, 0, 2])
        leader = tags_of(current_leader(1, 5))
        tags = random.choice([NO_TAGS, NO_TAGS, leader, tags_of((0, b"x" * 12), (9, b""))])
        if layout is Layout.FETCH:
            return partition(records, error_code, index, several, tags)
        return share_partition(records, error_code, index, several or 0, tags)

    topics = [
        [a_partition() for _ in range(random.choice([0, 1, 3]))] for _ in range(random.choice([0, 1, 1, 2]))
    ]
    has_tail = random.randrange(4) == 0
    if layout is Layout.FETCH:
        return fetched(*topics, tail=random.choice([*TAILS.values()]) if has_tail else NO_TAGS)
    tail = random.choice([*SHARE_TAILS.values()]) if has_tail else NO_NODES
    return share_fetched(*topics, tail=tail, version=0 if layout is Layout.SHARE_FETCH_0 else 2)
