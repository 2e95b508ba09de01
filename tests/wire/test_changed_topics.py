"""The topics that an answer says were changed, against an independent library's layouts."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.entities import entities, understood_responses, written
from tests.wire.strategies import a_few
from tsproxy.wire.apis import APIS
from tsproxy.wire.changed_topics import CHANGES, changed_topics
from tsproxy.wire.primitives import DecodeError, Reader

ANSWERS = [
    pytest.param(api_key, version, cls, id=f"{api_key}v{version}")
    for api_key, version, cls in understood_responses(CHANGES)
]
each_answer = pytest.mark.parametrize(("api_key", "version", "cls"), ANSWERS)
TOPIC = 2


def named_without_error(entity):
    rows = entity.topics if hasattr(entity, "topics") else entity.responses
    names = (
        getattr(row, "name", None) or getattr(row, "resource_name", None)
        for row in rows
        if int(row.error_code) == 0 and getattr(row, "resource_type", TOPIC) == TOPIC
    )
    return {str(name) for name in names if name}


@each_answer
@a_few
@given(data=st.data())
def test_the_topics_without_an_error_are_changed(api_key, version, cls, data):
    entity = data.draw(entities(cls))
    assert changed_topics(api_key, version, Reader(written(entity))) == named_without_error(entity)


@each_answer
@a_few
@given(data=st.data())
def test_an_answer_cut_short_is_a_decode_error(api_key, version, cls, data):
    body = written(data.draw(entities(cls)))
    with pytest.raises(DecodeError):
        changed_topics(api_key, version, Reader(body[: data.draw(st.integers(0, len(body) - 1))]))


@pytest.mark.parametrize("api_key", CHANGES)
@a_few
@given(body=st.binary(max_size=300), version=st.integers(0, 7))
def test_whatever_comes_is_read_or_a_decode_error(api_key, body, version):
    with suppress(DecodeError):
        changed_topics(api_key, min(version, APIS[api_key].max_version), Reader(body))


def test_no_other_answer_is_read():
    assert changed_topics(3, 0, Reader(b"?")) == frozenset()
