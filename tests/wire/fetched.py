"""Fetch answers from version 16 on: their bodies, field by field, with the tagged fields at their end."""

import struct
from random import Random

from tests.wire.batches import unsigned

NO_TAGS = b"\x00"


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


def any_body(random: Random) -> bytes:
    """A Fetch body as a broker may write it, mostly without tagged fields of its own."""

    def a_partition():
        return partition(
            random.choice([None, b"", random.randbytes(30), random.randbytes(200)]),
            random.choice([0, 6]),
            random.randrange(9),
            random.choice([None, None, 0, 2]),
            random.choice(
                [NO_TAGS, NO_TAGS, tags_of(current_leader(1, 5)), tags_of((0, b"x" * 12), (9, b""))]
            ),
        )

    topics = [
        [a_partition() for _ in range(random.choice([0, 1, 3]))] for _ in range(random.choice([0, 1, 1, 2]))
    ]
    tail = random.choice([*TAILS.values()]) if random.randrange(4) == 0 else NO_TAGS
    return fetched(*topics, tail=tail)
