"""SaslHandshake and SaslAuthenticate: of each only what a watcher needs, never an exception but one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema

from tests.wire.entities import entities, written
from tests.wire.strategies import a_few
from tsproxy.wire import k17_k36_sasl

HANDSHAKE, AUTHENTICATE = 17, 36


@pytest.mark.parametrize("version", [0, 1])
@a_few
@given(data=st.data())
def test_a_handshake_is_read_as_kio_writes_it(version, data):
    asked = data.draw(entities(load_request_schema(HANDSHAKE, version)))
    said = data.draw(entities(load_response_schema(HANDSHAKE, version)))
    assert k17_k36_sasl.read_handshake_request(written(asked)) == asked.mechanism
    assert k17_k36_sasl.read_handshake_response(written(said)) == said.error_code.value


@pytest.mark.parametrize("version", [0, 1, 2])
@a_few
@given(data=st.data())
def test_a_token_is_read_as_kio_writes_it(version, data):
    asked = data.draw(entities(load_request_schema(AUTHENTICATE, version)))
    said = data.draw(entities(load_response_schema(AUTHENTICATE, version)))
    assert k17_k36_sasl.read_authenticate_request(version, written(asked)) == asked.auth_bytes
    expected = (said.error_code.value, said.auth_bytes)
    assert k17_k36_sasl.read_authenticate_response(version, written(said)) == expected
