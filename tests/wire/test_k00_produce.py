"""Produce, versions 0 to 12: what is read is written again to the byte, unknown tags and odd names too."""

from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kio.schema.produce.v12.response import ProduceResponse as KioProduceResponse

from tests.wire.batches import unsigned
from tests.wire.entities import entities, written
from tests.wire.strategies import a_few, integers, odd_texts, tuples_of
from tsproxy.model.kafka import unnamed_topic
from tsproxy.model.produce import (
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
    WrittenErrors,
)
from tsproxy.model.verdict import RecordError
from tsproxy.wire.k00_produce import (
    ManyPartitionsError,
    read_request,
    read_response,
    write_request,
    write_response,
)
from tsproxy.wire.primitives import DecodeError

VERSIONS = range(14)

each_version = pytest.mark.parametrize("version", VERSIONS)


def only(strategy, is_there, otherwise):
    """`strategy` if the version has the field, and else the value that a decoded message has without it."""
    return strategy if is_there else st.just(otherwise)


nullable_texts = st.one_of(st.none(), odd_texts)

tagged = st.lists(st.tuples(st.integers(1, 2**32 - 1), st.binary(max_size=9)), max_size=3)


def section(tags):
    return unsigned(len(tags)) + b"".join(unsigned(tag) + unsigned(len(value)) + value for tag, value in tags)


sections = tagged.map(section)


def topics_of(kind, version, partitions, tags):
    """Below version 13 with a name, from there on with an id, whose name nobody has said."""
    if version < 13:
        return st.builds(kind, odd_texts, tuples_of(partitions), tags)
    ids = st.binary(min_size=16, max_size=16)
    return st.builds(
        lambda topic_id, each, tags: kind(unnamed_topic(topic_id), each, tags, topic_id),
        ids,
        tuples_of(partitions),
        tags,
    )


def requests(version):
    tags = only(sections, version >= 9, b"")
    records = st.one_of(st.none(), st.binary(max_size=200).map(memoryview))
    partitions = st.builds(PartitionProduceData, integers(32), records, tags)
    topics = topics_of(TopicProduceData, version, partitions, tags)
    return st.builds(
        ProduceRequest,
        transactional_id=only(nullable_texts, version >= 3, None),
        acks=integers(16),
        timeout_ms=integers(32),
        topics=tuples_of(topics),
        tags=tags,
    ).filter(names_each_partition_once)


def names_each_partition_once(request):
    """One that does not is rejected (tests/session/test_produce.py)."""
    named = [(topic.key, partition.index) for topic in request.topics for partition in topic.partitions]
    return len(set(named)) == len(named)


def responses(version):
    tags = only(sections, version >= 9, b"")
    errors = tuples_of(st.builds(RecordError, integers(32), nullable_texts))
    partitions = st.builds(
        PartitionProduceResponse,
        index=integers(32),
        error_code=integers(16),
        base_offset=integers(64),
        log_append_time_ms=only(integers(64), version >= 2, -1),
        log_start_offset=only(integers(64), version >= 5, -1),
        record_errors=only(errors, version >= 8, ()),
        error_message=only(nullable_texts, version >= 8, None),
        tags=tags,
    )
    nodes = st.builds(NodeEndpoint, integers(32), odd_texts, integers(32), nullable_texts, sections)
    return st.builds(
        ProduceResponse,
        topics=tuples_of(topics_of(TopicProduceResponse, version, partitions, tags)),
        throttle_time_ms=only(integers(32), version >= 1, 0),
        node_endpoints=only(st.one_of(st.none(), tuples_of(nodes)), version >= 9, None),
        tags=only(tagged.map(tuple), version >= 9, ()),
    )


@each_version
@a_few
@given(data=st.data())
def test_a_message_survives_the_round_trip(version, data):
    for drawn, write, read in (
        (requests, write_request, read_request),
        (responses, write_response, read_response),
    ):
        message = data.draw(drawn(version))
        body = write(version, message)
        assert read(version, body) == message
        assert read(version, body + b"\x00more") == message


@each_version
@a_few
@given(data=st.data())
def test_a_message_cut_anywhere_is_a_decode_error(version, data):
    for body, read_body in (
        (write_request(version, data.draw(requests(version))), read_request),
        (write_response(version, data.draw(responses(version))), read_response),
    ):
        cut = data.draw(st.integers(0, len(body) - 1))
        with pytest.raises(DecodeError):
            read_body(version, body[:cut])


@each_version
@a_few
@given(data=st.data())
def test_a_damaged_message_is_a_message_or_a_decode_error(version, data):
    body = bytearray(write_request(version, data.draw(requests(version))))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] = data.draw(st.integers(0, 255))
    with suppress(DecodeError):
        request = read_request(version, bytes(body))
        assert read_request(version, write_request(version, request)) == request


# -- Against kio ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3, 14))
@a_few
@given(data=st.data())
def test_what_kio_writes_is_read_and_written_to_the_byte(version, data):
    for kind, read_body, write_body in (
        ("request", read_request, write_request),
        ("response", read_response, write_response),
    ):
        module = __import__(f"kio.schema.produce.v{version}.{kind}", fromlist=["*"])
        entity = data.draw(entities(getattr(module, f"Produce{kind.capitalize()}")))
        if kind == "request":
            named = [
                (topic.topic_id if version >= 13 else topic.name, each.index)
                for topic in entity.topic_data
                for each in topic.partition_data
            ]
            assume(len(set(named)) == len(named))  # see `names_each_partition_once`
        body = written(entity)
        assert write_body(version, read_body(version, body)) == body


@given(entities(KioProduceResponse))
def test_each_field_of_an_answer_is_what_kio_calls_by_its_name(entity):
    response = read_response(12, written(entity))
    assert len(response.topics) == len(entity.responses)
    for topic, its_topic in zip(response.topics, entity.responses, strict=True):
        assert topic.name == its_topic.name
        for found, told in zip(topic.partitions, its_topic.partition_responses, strict=True):
            assert (found.index, found.error_code) == (told.index, told.error_code.value)
            assert (found.base_offset, found.log_start_offset) == (told.base_offset, told.log_start_offset)
            assert found.error_message == told.error_message
            assert [(e.batch_index, e.message) for e in found.record_errors] == [
                (e.batch_index, e.batch_index_error_message) for e in told.record_errors
            ]
    nodes = [(n.node_id, n.host, n.port, n.rack) for n in response.node_endpoints or ()]
    assert nodes == [(n.node_id, n.host, n.port, n.rack) for n in entity.node_endpoints]


# -- What Kafka rejects to read ---------------------------------------------------------------------


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("sign", ["x", "é", "\udcff"])
def test_a_text_is_cut_at_the_longest_string_that_kafka_reads(version, sign):
    """`MessageDataGenerator.java`: more than 32767 bytes is an error, in compact strings too."""
    long = sign * 40_000
    partition = PartitionProduceResponse(0, 87, record_errors=(RecordError(0, long),), error_message=long)
    response = ProduceResponse((TopicProduceResponse("t", (partition,)),))
    (topic,) = read_response(version, write_response(version, response)).topics
    (found,) = topic.partitions
    for text in (found.error_message, found.record_errors[0].message):
        assert long.startswith(text)
        assert len(text.encode("utf-8", "surrogateescape")) <= 32_767


def test_node_endpoints_with_bytes_behind_them_lose_these():
    """Tag 0 is decoded, for its addresses must not leave: what nobody can read does not leave either."""
    inside = b"\x01" + b"hidden.example:9092"
    body = b"\x01" + b"\x00\x00\x00\x00" + b"\x01\x00" + unsigned(len(inside)) + inside
    assert write_response(10, read_response(10, body)) == b"\x01" + bytes(4) + b"\x01\x00\x01\x01"


@pytest.mark.parametrize("sign", ["x", "\udcff"])
def test_a_text_of_the_longest_size_goes_on_whole(sign):
    longest = sign * 32_767
    response = ProduceResponse(
        (TopicProduceResponse("t", (PartitionProduceResponse(0, 87, error_message=longest),)),)
    )
    (topic,) = read_response(9, write_response(9, response)).topics
    assert [each.error_message for each in topic.partitions] == [longest]


@pytest.mark.parametrize("count", [22, 23, 30])
def test_more_errors_than_are_kept_go_on_to_the_byte_where_each_has_tags(count):
    """The fast reader reads no error with tags."""
    each = bytes(4) + b"\x02x" + b"\x01\x05\x00"
    written = WrittenErrors(count, each * count, None, None)
    partition = PartitionProduceResponse(0, 87, error_message="whole", written_errors=written)
    body = write_response(9, ProduceResponse((TopicProduceResponse("t", (partition,)),)))
    (topic,) = read_response(9, body).topics
    assert topic.partitions[0].error_message == "whole"
    assert bytes(topic.partitions[0].written_errors.data) == each * count


# -- Limits of our own ------------------------------------------------------------------------------


def request_of(name, *counts):
    """A topic for each of `counts`, with that many partitions."""
    data = memoryview(b"")
    topics = [
        TopicProduceData(f"{name}{n}", tuple(PartitionProduceData(index, data) for index in range(count)))
        for n, count in enumerate(counts)
    ]
    return write_request(9, ProduceRequest(None, 1, 1000, tuple(topics)))


@pytest.mark.parametrize("counts", [[3], [1, 2], [0, 0, 0], [0, 2], [2, 0]])
def test_as_many_partitions_as_are_allowed_are_read_and_one_more_is_an_error(counts):
    """A topic without partitions counts as one."""
    assert len(read_request(9, request_of("t", *counts), most=3).topics) == len(counts)
    for more in ([*counts, 1], [*counts, 0], [1, *counts]):
        with pytest.raises(ManyPartitionsError):
            read_request(9, request_of("t", *more), most=3)


@pytest.mark.parametrize(("name", "shown"), [("n" * 249, "n" * 249), ("n" * 250, "n" * 249)])
def test_an_error_shows_as_much_of_a_name_as_kafka_allows(name, shown):
    twice = (PartitionProduceData(3, None),) * 2
    body = write_request(9, ProduceRequest(None, 1, 1000, (TopicProduceData(name, twice),)))
    with pytest.raises(DecodeError, match=f"names {shown}-3 twice"):
        read_request(9, body)
