"""Answers to AlterConfigs and IncrementalAlterConfigs without addresses, against an independent library's
layouts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.entities import each_response, entities, written
from tests.wire.strategies import a_few
from tsproxy.wire.k33_k44_alter_configs import REPLACEMENT
from tsproxy.wire.masking import MASKED
from tsproxy.wire.primitives import Reader

each_answer = each_response((33, 44))

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, OF_THE_FUTURE = 2, 4, 8, 16, 32, 64

WITH_ADDRESSES = [
    "Error creating broker listeners from '[PLAINTEXT://127.0.0.1:21500, CONTROLLER://127.0.0.1:21501]': No",
    "Invalid value broker-1.internal:9092 for configuration bootstrap.servers",
    "no brokers in [fd00::1]:9092",
    "1@controller-1 cannot be read",
]
WITHOUT = [
    "Invalid value 0 for configuration num.io.threads: Value must be at least 1",
    "Cannot update these configs dynamically: Set(broker.id)",
    "Unknown topic config name: nonsense",
    "",
]


def with_texts(entity, kind, text):
    """`entity` with this text and type at each resource."""
    changed = tuple(
        replace(response, resource_type=kind, error_message=text) for response in entity.responses
    )
    return replace(entity, responses=changed)


def masked(api_key, version, entity):
    return MASKED[api_key].mask_addresses(version, Reader(written(entity)))


@each_answer
@pytest.mark.parametrize("text", WITH_ADDRESSES)
@a_few
@given(data=st.data())
def test_a_text_about_a_broker_that_contains_addresses_is_replaced_and_all_else_stays(
    api_key, version, cls, text, data
):
    entity = data.draw(entities(cls))
    for kind in (BROKER, BROKER_LOGGER, OF_THE_FUTURE):
        said = with_texts(entity, kind, text)
        assert masked(api_key, version, said) == written(with_texts(entity, kind, REPLACEMENT))


@each_answer
@a_few
@given(data=st.data())
def test_other_texts_stay(api_key, version, cls, data):
    entity = data.draw(entities(cls))
    for text in (*WITHOUT, None):
        said = with_texts(entity, BROKER, text)
        assert masked(api_key, version, said) == written(said)
    for kind in (TOPIC, CLIENT_METRICS, GROUP):
        said = with_texts(entity, kind, WITH_ADDRESSES[0])
        assert masked(api_key, version, said) == written(said)
