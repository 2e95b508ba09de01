"""Requests in versions that Kafka 4 does not take (KIP-896): each use is noted."""

from dataclasses import replace

import pytest

from tests.session.conversation import NOW_MS, PEER, Conversation, view_of
from tests.session.messages import request
from tsproxy.model.names import NAME_CHARS
from tsproxy.model.outcome import OldRequest
from tsproxy.session.effects import NoteOld
from tsproxy.session.requests import AGAIN_MS, MAX_NOTED
from tsproxy.wire.apis import APIS

NARROWED = {key: api.kafka_4_from for key, api in APIS.items() if api.kafka_4_from}
OTHERS = sorted(APIS.keys() - NARROWED.keys())


def noted(session, *frames, now_ms=NOW_MS):
    effects = session.client_bytes(b"".join(frames), now_ms)
    return [each.request for each in effects if isinstance(each, NoteOld)]


def session(uses_fast_path=True):
    return Conversation(view_of(in_flight_requests=1_000), uses_fast_path=uses_fast_path).session


@pytest.mark.parametrize("uses_fast_path", [True, False])
@pytest.mark.parametrize("api_key", NARROWED, ids=lambda key: APIS[key].name)
def test_an_old_version_is_noted_and_the_first_that_kafka_4_takes_is_not(api_key, uses_fast_path):
    oldest = NARROWED[api_key]
    peer = replace(PEER, client_id="app")
    found = noted(session(uses_fast_path), request(api_key, oldest - 1, body=bytes(60)))
    assert found == [OldRequest(peer, APIS[api_key].name, oldest - 1)]
    assert noted(session(uses_fast_path), request(api_key, oldest, body=bytes(60))) == []


@pytest.mark.parametrize("api_key", OTHERS, ids=lambda key: APIS[key].name)
def test_apis_that_kafka_4_did_not_narrow_are_not_noted(api_key):
    assert noted(session(), request(api_key, 0, body=bytes(60))) == []


def test_each_use_is_noted_once_a_minute():
    one, fetch = session(), request(1, 3, body=bytes(60))
    assert len(noted(one, fetch, fetch)) == 1
    assert noted(one, fetch, now_ms=NOW_MS + AGAIN_MS - 1) == []
    assert len(noted(one, request(1, 2, body=bytes(60)), request(1, 3, body=bytes(60), client_id="b"))) == 2
    assert len(noted(one, fetch, now_ms=NOW_MS + AGAIN_MS)) == 1


def test_a_clock_that_was_set_back_stops_no_note():
    one, fetch = session(), request(1, 3, body=bytes(60))
    assert len(noted(one, fetch)) == 1
    assert len(noted(one, fetch, now_ms=NOW_MS - AGAIN_MS)) == 1


def test_a_client_with_many_ids_is_noted_so_often_and_no_more():
    ids = [request(1, 3, body=bytes(60), client_id=f"id-{number}") for number in range(2 * MAX_NOTED)]
    assert len(noted(session(), *ids)) == MAX_NOTED


def test_long_names_are_not_kept_by_a_connection():
    """A client id may have 32,767 bytes, and a connection notes many of them."""
    one, longest = session(), 30_000
    ids = [
        request(1, 3, body=bytes(60), client_id=f"{number}" + "x" * longest) for number in range(MAX_NOTED)
    ]
    assert len(noted(one, *ids)) == MAX_NOTED
    assert len(one.client_id) == NAME_CHARS
    assert all(isinstance(each, int) for each in one._requests._old_versions._noted)
