"""Whole requests against real brokers: what goes on, what is told, and when a connection closes."""

import pytest

from rigs.differential.lines import Direct, Proxied, Stream, address_of, now_ms
from rigs.differential.requests import produce_frame, read_answers
from rigs.differential.stored import stored_batches
from tests.verdicts.rows import DAY, HOUR, KEEP, KNOWN, cut_short, legacy, limits, v2
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import VerdictName
from tsproxy.model.verdict import Reason, TopicLimits
from tsproxy.model.view import View

GOOD, BAD = v2(0), v2(2 * HOUR)
VERSION = 11


def count(line: Direct, topic: str) -> list[int]:
    """How many batches lie in each partition."""
    return [len(list(stored_batches(line, topic, partition, False))) for partition in range(3)]


def test_null_records_are_rejected_and_the_rest_goes_on(proxied: Proxied, direct: Direct, topic: str):
    """A broker that is sent null records answers nothing and reads no more from the connection."""
    sent = [(topic, 0, None), (topic, 1, GOOD(now_ms()))]
    answers = proxied.told(VERSION, sent)
    assert [answers[topic, p].error_code for p in (0, 1)] == [ErrorCode.INVALID_RECORD, ErrorCode.NONE]
    assert count(direct, topic) == [0, 1, 0]


@pytest.mark.parametrize("way", ["direct", "proxied"])
def test_with_acks_0_good_batches_are_stored_and_a_bad_one_closes_the_connection(way, address, topic):
    """Both alike: the broker stores what is good and closes, since it has no answer to put an error in."""
    bad_and_good = produce_frame(
        VERSION, 0, [(topic, 0, BAD(now_ms())), (topic, 1, GOOD(now_ms())), (topic, 2, GOOD(now_ms()))]
    )
    if way == "direct":
        stream = Stream(address)
        stream.send(bad_and_good)
        assert stream.receive() is None
        stream.close()
    else:
        line = Proxied(address, View(topics={topic: KNOWN}))
        assert line.ask_nothing(bad_and_good) is False
    with Direct(address) as line:
        # The proxy's connection is closed behind the request: that it was read first, only the log can say.
        while sum(count(line, topic)) < 2:
            pass
        assert count(line, topic) == [0, 1, 1]


async def test_of_two_reasons_to_reject_all_the_request_the_brokers_hash_map_chooses(kafka_391, topic):
    """Below v3. The broker's choice does not move with the order of partitions; the proxy tells the first."""
    await kafka_391.create_topic(topic, partitions=2, config=KEEP | limits(DAY, HOUR))
    address = address_of(kafka_391)
    lines = Direct(address), Proxied(address, View(topics={topic: KNOWN}, produce_versions=(0, 11)))
    sent = [(topic, 0, cut_short(0, 40)(now_ms())), (topic, 1, GOOD(now_ms()) + bytes(20))]
    frames = [produce_frame(2, 1, order) for order in (sent, sent[::-1])]
    (broker, again), proxied = (
        [{a.error_code for a in read_answers(2, payload).values()} for payload in line.ask(frames)]
        for line in lines
    )
    for line in lines:
        line.close()
    assert broker == again
    assert proxied == [{ErrorCode.UNKNOWN_SERVER_ERROR}, {ErrorCode.CORRUPT_MESSAGE}]


KINDS = {
    "a checksum": (v2(0, crc_off=1), Reason.INVALID_CRC),
    "a base offset": (v2(0, base_offset=5), Reason.INVALID_OFFSET_OR_SEQUENCE),
    "offsets that do not fit the count": (v2(0, last_offset_delta=9), Reason.INVALID_OFFSET_OR_SEQUENCE),
    "a sequence number": (v2(0, producer_id=9, producer_epoch=0), Reason.INVALID_OFFSET_OR_SEQUENCE),
    "a magic": (legacy(1, 0), Reason.INVALID_MAGIC),
    "a magic that nobody knows": (v2(0, magic=9), Reason.INVALID_MAGIC),
    "the size of a record": (v2(0, records_count=2, last_offset_delta=1), Reason.BAD_RECORD),
    "too many bytes": (v2(0, tail=bytes(0), payload=bytes(2_000_000)), Reason.BAD_RECORD),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_broker_rejects_is_booked_by_its_kind(kind, address, topic):
    """KIP-467's four metrics, and the rest; where limits are not known the broker judges alone."""
    write, reason = KINDS[kind]
    with Proxied(address, View()) as line:
        line.told(VERSION, [(topic, 0, write(now_ms()))])
        (outcome,) = line.outcomes
    assert (outcome.verdict, outcome.reason) == (VerdictName.BROKER_REJECTED, reason)


@pytest.mark.parametrize("version", [5, VERSION])
async def test_a_record_without_key_on_a_compacted_topic_is_booked_as_such(kafka, topic, version):
    await kafka.create_topic(topic, config=KEEP | {"cleanup.policy": "compact"})
    with Proxied(address_of(kafka), View(topics={topic: TopicLimits(is_compacted=True)})) as line:
        line.told(version, [(topic, 0, GOOD(now_ms()))])
        (outcome,) = line.outcomes
    assert (outcome.verdict, outcome.reason) == (VerdictName.BROKER_REJECTED, Reason.NO_KEY)
