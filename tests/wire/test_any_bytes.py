"""Any bytes that come are read, or are a DecodeError. A message that is cut is one."""

from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.entities import entities, understood_responses, written
from tests.wire.strategies import a_few
from tsproxy.model.view import Endpoint
from tsproxy.wire import k00_produce, k17_k36_sasl, k18_api_versions
from tsproxy.wire.addresses import LAYOUTS, rewrite
from tsproxy.wire.apis import APIS
from tsproxy.wire.changed_topics import CHANGES, changed_topics
from tsproxy.wire.left_out import leave_out
from tsproxy.wire.masking import MASKED
from tsproxy.wire.primitives import DecodeError, Reader


def rewritten(api_key, version, body):
    return rewrite(api_key, version, Reader(body), lambda *_: Endpoint("proxy.example", 9192))


def left_out(api_key, version, body):
    return leave_out(api_key, version, Reader(body), lambda _: True)


def masked(api_key, version, body):
    return MASKED[api_key].mask_addresses(version, Reader(body))


def changed(api_key, version, body):
    return changed_topics(api_key, version, Reader(body))


BY_API = {
    rewritten: [api_key for api_key in LAYOUTS if LAYOUTS[api_key]],
    left_out: LAYOUTS,
    masked: MASKED,
    changed: CHANGES,
}
BY_VERSION = {
    k00_produce.read_request: 0,
    k00_produce.read_response: 0,
    k18_api_versions.narrow_response: 18,
    k18_api_versions.read_client_software: 18,
    k17_k36_sasl.read_authenticate_request: 36,
    k17_k36_sasl.read_authenticate_response: 36,
}
"""Readers by the API whose versions they know."""
READERS = {
    **{
        f"{read.__name__} {api_key}": (partial(read, api_key), api_key)
        for read, api_keys in BY_API.items()
        for api_key in api_keys
    },
    **{read.__name__: (read, api_key) for read, api_key in BY_VERSION.items()},
    "read_handshake_request": (lambda _, body: k17_k36_sasl.read_handshake_request(body), 17),
    "read_handshake_response": (lambda _, body: k17_k36_sasl.read_handshake_response(body), 17),
}


@pytest.mark.parametrize(("read", "api_key"), READERS.values(), ids=READERS)
@given(body=st.binary(max_size=300), data=st.data())
def test_any_bytes_are_read_or_a_decode_error(read, api_key, body, data):
    with suppress(DecodeError):
        read(data.draw(st.integers(0, APIS[api_key].max_version)), body)


READ_TO_THE_END = {
    f"{read.__name__} {cls.__name__} v{version}": (partial(read, api_key, version), cls)
    for read, api_keys in ((masked, (32, 33, 44, 55)), (changed, CHANGES))
    for api_key, version, cls in understood_responses(api_keys)
    if (api_key, version) not in ((55, 0), (55, 1))  # they stream
}


@pytest.mark.parametrize(("read", "cls"), READ_TO_THE_END.values(), ids=READ_TO_THE_END)
@a_few
@given(data=st.data())
def test_a_message_cut_short_is_a_decode_error(read, cls, data):
    """Bytes that cannot be read to their end may have an address, or a change, behind it."""
    body = written(data.draw(entities(cls)))
    with pytest.raises(DecodeError):
        read(body[: data.draw(st.integers(0, len(body) - 1))])
