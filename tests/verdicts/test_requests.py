"""Whole requests against real brokers: what goes on, what is told, and when a connection closes."""

import pytest

from rigs.differential.lines import Direct, Proxied, Stream, address_of, now_ms
from rigs.differential.requests import produce_frame, read_answers, request_frame
from rigs.differential.stored import stored_batches
from tests.verdicts.rows import DAY, HOUR, KEEP, KNOWN, cut_short, legacy, limits, v2
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import VerdictName
from tsproxy.model.verdict import Reason, TopicLimits
from tsproxy.model.view import View
from tsproxy.testing.kafka_cluster import KafkaCluster

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


def test_with_acks_0_and_nothing_bad_the_connection_stays(address, topic):
    sent = [(topic, 0, GOOD(now_ms()))]
    with Proxied(address, View(topics={topic: KNOWN})) as line:
        assert line.ask_nothing(produce_frame(VERSION, 0, sent))
        assert line.told(VERSION, sent)[topic, 0].base_offset == 1


async def test_of_two_reasons_to_reject_all_the_request_the_brokers_hash_map_chooses(kafka_391, topic):
    """Below v3. The broker's choice does not move with the order of partitions; the proxy tells the first."""
    await kafka_391.create_topic(topic, partitions=2, config=KEEP | limits(DAY, HOUR))
    address = address_of(kafka_391)
    lines = Direct(address), Proxied(address, View(topics={topic: KNOWN}))
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


def test_produce_v13_was_never_offered_and_closes_the_connection(proxied, topic):
    """From v13 on topics have ids alone, and limits are known by name: nothing is forwarded unjudged."""
    (payload,) = proxied.ask([request_frame(0, 13, bytes(20))])
    assert payload is None


def test_versions_that_the_broker_lacks_close_the_connection_both_ways(kafka_440: KafkaCluster, topic):
    """A 4.x broker lists Produce from v0 on for old librdkafka's sake, yet closes (KAFKA-18659)."""
    address, frame = address_of(kafka_440), produce_frame(2, 1, [("any", 0, GOOD(now_ms()))])
    for line in (Direct(address), Proxied(address, View())):
        assert line.ask([frame]) == [None]
        line.close()


def test_rejections_and_acceptances_leave_in_the_order_of_their_requests(proxied, topic):
    batches = [GOOD, BAD, GOOD, GOOD, BAD, BAD, GOOD]
    frames = [
        produce_frame(VERSION, 1, [(topic, 0, batch(now_ms()))], number=n) for n, batch in enumerate(batches)
    ]
    payloads = proxied.ask(frames)
    codes = [read_answers(VERSION, payload)[topic, 0].error_code for payload in payloads]
    assert codes == [32 if batch is BAD else 0 for batch in batches]
    assert [int.from_bytes(payload[:4], "big") for payload in payloads] == list(range(len(batches)))


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


def test_a_wrong_maximum_in_the_header_is_counted_and_accepted(proxied, direct, topic):
    sent = [(topic, 0, v2(0, 1, max_timestamp=5)(now_ms())), (topic, 1, GOOD(now_ms()))]
    assert {answer.error_code for answer in proxied.told(VERSION, sent).values()} == {0}
    assert {o.partition: (o.verdict, o.reason) for o in proxied.outcomes} == {
        0: (VerdictName.ACCEPTED, Reason.HEADER_MISMATCH),
        1: (VerdictName.ACCEPTED, None),
    }
