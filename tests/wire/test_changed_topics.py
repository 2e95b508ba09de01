"""The topics that an answer says were changed, against an independent library's layouts."""

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.entities import each_response, entities, written
from tests.wire.strategies import a_few
from tsproxy.wire.changed_topics import CHANGES, changed_topics
from tsproxy.wire.primitives import Reader

each_answer = each_response(CHANGES)
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


def test_no_other_answer_is_read():
    assert changed_topics(3, 0, Reader(b"?")) == frozenset()
