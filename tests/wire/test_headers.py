"""Both headers, for every API that is understood."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema

from tests.wire.entities import read, versions_of, written
from tsproxy.wire.apis import APIS, NEVER, request_is_understood
from tsproxy.wire.headers import (
    RequestHeader,
    read_request_header,
    response_body_start,
    response_header,
)
from tsproxy.wire.primitives import DecodeError

KNOWN = [(api_key, version) for api_key in APIS for version in versions_of(api_key)]


def test_the_header_of_every_request_ends_where_its_body_begins():
    """kio says which header each request has: with tags from the API's first flexible version on."""
    for api_key, version in KNOWN:
        cls = load_request_schema(api_key, version).__header_schema__
        facts = {"request_api_key": api_key, "request_api_version": version, "correlation_id": -2}
        data = written(cls(**facts, client_id="é"))
        assert read_request_header(data + b"body") == RequestHeader(api_key, version, -2, "é", len(data))


def test_the_header_of_every_answer_ends_where_its_body_begins():
    """ApiVersions is the exception: its answer has no tags at any version."""
    for api_key, version in KNOWN:
        cls = load_response_schema(api_key, version).__header_schema__
        data = response_header(api_key, version, -2)
        assert read(cls, data) == cls(correlation_id=-2)
        assert response_body_start(api_key, version, data + b"body") == len(data)


def test_tags_in_a_header_are_stepped_over():
    head = b"\x00\x03\x00\x0c\x00\x00\x00\x07\xff\xff" + b"\x01\x63\x02hi"
    assert read_request_header(head + b"body").body_start == len(head)
    assert response_body_start(3, 12, b"\x00\x00\x00\x07" + b"\x01\x63\x02hi" + b"body") == 9


def test_a_client_id_may_be_null_or_empty_which_is_not_the_same():
    head = b"\x00\x03\x00\x00\x00\x00\x00\x07"
    assert read_request_header(head + b"\xff\xff").client_id is None
    assert read_request_header(head + b"\x00\x00").client_id == ""


@given(st.sampled_from(KNOWN), st.binary(max_size=40))
def test_whatever_comes_is_a_header_or_a_decode_error(known, payload):
    with suppress(DecodeError):
        assert 10 <= read_request_header(payload).body_start <= len(payload)
    with suppress(DecodeError):
        assert 4 <= response_body_start(*known, payload) <= len(payload)


@pytest.mark.parametrize(
    ("api_key", "version", "is_understood"),
    [
        (0, 12, True),
        (0, 14, False),
        (0, -1, False),
        (1, 18, True),
        (1, 19, False),
        (4, 0, False),
        (17, 1, True),
        (55, 2, True),
        (55, 3, False),
        (-1, 0, False),
        (9999, 0, False),
    ],
)
def test_only_what_has_a_known_layout_is_understood(api_key, version, is_understood):
    assert request_is_understood(api_key, version) is is_understood


def test_an_api_that_never_becomes_flexible_has_no_version_that_is():
    assert not any(APIS[17].is_flexible(version) for version in range(NEVER))


def test_an_answer_may_be_no_more_than_its_correlation_id():
    assert response_body_start(12, 0, bytes(4)) == 4
    with pytest.raises(DecodeError):
        response_body_start(12, 0, bytes(3))
