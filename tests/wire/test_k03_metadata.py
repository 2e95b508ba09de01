"""The proxy's own Metadata requests and their answers. kio is the oracle: Kafka's own schemas made it."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema

from tests.wire.entities import encode, entities, read, written
from tests.wire.test_addresses import TAGS
from tsproxy.model.kafka import ApiKey, ErrorCode
from tsproxy.wire.k03_metadata import (
    VERSION,
    Topic,
    TopicNames,
    read_response,
    read_topics,
    write_named_request,
    write_request,
)
from tsproxy.wire.primitives import DecodeError

REQUEST = load_request_schema(ApiKey.METADATA, VERSION)
RESPONSE = load_response_schema(ApiKey.METADATA, VERSION)
NO_ID = bytes(16)

ids = st.uuids().map(lambda each: each.bytes)


def topic_id_of(topic):
    """kio has None for an id of zeros."""
    return topic.topic_id.bytes if topic.topic_id else NO_ID


@given(st.lists(ids))
def test_topics_are_asked_for_by_id(topic_ids):
    asked = read(REQUEST, write_request(topic_ids))
    assert [(topic.topic_id, topic.name) for topic in asked.topics] == [
        (UUID(bytes=each), None) for each in topic_ids
    ]
    assert not asked.allow_auto_topic_creation
    assert not asked.include_topic_authorized_operations


def test_all_topics_are_asked_for_by_null():
    asked = read(REQUEST, write_request(None))
    assert asked.topics is None
    assert not asked.allow_auto_topic_creation
    assert not asked.include_topic_authorized_operations


@given(st.lists(st.text(max_size=20)))
def test_topics_are_asked_for_by_name_with_what_one_may_do(names):
    asked = read(REQUEST, write_named_request(names))
    assert [(topic.topic_id, topic.name) for topic in asked.topics] == [(None, name) for name in names]
    assert not asked.allow_auto_topic_creation
    assert asked.include_topic_authorized_operations


@given(entities(RESPONSE))
def test_the_topics_of_an_answer_are_read_past_all_else(answer):
    expected = [
        Topic(
            each.error_code,
            each.name,
            topic_id_of(each),
            each.is_internal,
            each.topic_authorized_operations,
        )
        for each in answer.topics
    ]
    for body in (written(answer), encode(answer, TAGS)):
        assert read_topics(body) == expected
        names = {topic.topic_id: topic.name for topic in expected if topic.name}
        denied = {
            topic.topic_id for topic in expected if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        }
        assert read_response(body) == TopicNames(names, frozenset(denied))


@given(entities(RESPONSE), st.data())
def test_an_answer_that_is_cut_is_an_error(answer, data):
    topics = written(answer)[:-1]  # the tagged fields of the whole are not read
    size = data.draw(st.integers(0, len(topics) - 1))
    with pytest.raises(DecodeError):
        read_topics(topics[:size])
