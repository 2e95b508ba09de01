"""Limits that only the proxy has: a broker takes it, the proxy does not, and a row says that this is
meant."""

from collections.abc import Callable
from itertools import repeat

import pytest

from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.comparison import Exchange, Window, comparable
from rigs.differential.generator import Part
from rigs.differential.intended import claimed_by
from rigs.differential.lines import Direct, Proxied, address_of, now_ms
from rigs.differential.requests import Answers, produce_frame, read_answers
from rigs.differential.topics import Topic
from tests.verdicts.rows import DAY, HOUR, KEEP, KNOWN, limits
from tsproxy.model.kafka import Codec, ErrorCode
from tsproxy.model.view import SessionLimits, View
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.wire.k00_produce import MAX_PARTITIONS

VERSION = 11


def good(codec: Codec = Codec.NONE, count: int = 3, value: bytes = b"v") -> bytes:
    return write_batch(Batch(tuple(repeat(Record(now_ms(), value=value), count)), codec=codec))


BEYOND: dict[str, tuple[SessionLimits, Callable[[], bytes]]] = {
    "limits.records_per_batch": (SessionLimits(records_per_batch=2), good),
    "limits.decompressed_batch": (
        SessionLimits(decompressed_batch=99),
        lambda: good(Codec.GZIP, 9, bytes(50)),
    ),
    "limits.records_per_request": (SessionLimits(records_per_request=2), good),
    "limits.decompressed_request": (
        SessionLimits(decompressed_request=99),
        lambda: good(Codec.GZIP, 9, bytes(50)),
    ),
    "limits.zstd_window": (SessionLimits(zstd_window=1 << 18), lambda: good(Codec.ZSTD, 3, bytes(1 << 18))),
}
"""Key -> limits that a batch breaks which every broker takes."""


async def exchanged(
    kafka: KafkaCluster, name: str, own: SessionLimits, request: list[bytes]
) -> tuple[Exchange, Answers | None]:
    """Both answers to partition 0 of a request with these partitions, and the proxy's as it came."""
    await kafka.create_topic(name, config=KEEP | limits(DAY, HOUR))
    address = address_of(kafka)
    parts = tuple(Part(Topic("t", name, name, KNOWN), at, records) for at, records in enumerate(request))
    frame = produce_frame(VERSION, 1, [(name, part.partition, part.records) for part in parts])
    start_ms, found = now_ms(), []
    for line in Direct(address), Proxied(address, View(topics={name: KNOWN}, limits=own)):
        (payload,) = line.ask([frame])
        found.append(None if payload is None else read_answers(VERSION, payload))
        line.close()
    window = Window(start_ms, now_ms())
    direct, proxied = (
        None if answers is None else comparable(answers[name, 0], name, KNOWN, window) for answers in found
    )
    return Exchange(kafka.version, VERSION, parts[0], direct, proxied, parts), found[1]


@pytest.mark.parametrize("key", BEYOND)
async def test_a_batch_beyond_a_limit_of_the_proxys_own_is_told_which(kafka, topic, key):
    own, write = BEYOND[key]
    exchange, _ = await exchanged(kafka, topic, own, [write()])
    assert exchange.broker_code == ErrorCode.NONE
    assert exchange.proxied is not None
    assert (exchange.proxied.error_code, exchange.proxied.record_errors) == (ErrorCode.INVALID_RECORD, ())
    assert key in (exchange.proxied.error_message or "")
    assert (claimed_by(exchange) or "").startswith("a batch or a request beyond")


async def test_a_broker_names_every_culprit_and_the_proxy_as_many_as_it_may(kafka, topic):
    bad = write_batch(Batch(tuple(Record(now_ms() + 2 * HOUR) for _ in range(5))))
    exchange, answers = await exchanged(kafka, topic, SessionLimits(culprits_listed=2), [bad])
    assert exchange.direct is not None
    assert [index for index, _ in exchange.direct.record_errors] == [0, 1, 2, 3, 4]
    assert answers is not None
    assert [error.batch_index for error in answers[topic, 0].record_errors] == [0, 1]
    assert (claimed_by(exchange) or "").startswith("more culprits than")


async def test_more_partitions_than_any_broker_leads_close_the_connection(kafka, topic):
    """The broker answers each: nearly all are unknown to it."""
    exchange, _ = await exchanged(kafka, topic, SessionLimits(), [good(), *repeat(b"", MAX_PARTITIONS)])
    assert exchange.direct is not None
    assert exchange.proxied is None
    assert (claimed_by(exchange) or "").startswith("more than")
