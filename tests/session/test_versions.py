"""A Produce request in a version that the broker does not take closes the connection, unjudged."""

import struct
from dataclasses import replace

import pytest

from tests.session.conversation import (
    HOUR_MS,
    LIMITS,
    NOW_MS,
    PEER,
    Conversation,
    Session,
    client,
    closed,
    noted,
    view_of,
)
from tests.session.messages import API_VERSIONS, FETCH, answer, produce, request
from tests.wire.batches import batch
from tsproxy import fastpath
from tsproxy.session.budget import DecompressionBudget
from tsproxy.session.effects import CloseReason, CloseSession, SendToBroker, SendToClient
from tsproxy.session.requests import RELAYED
from tsproxy.wire.k18_api_versions import produce_versions

GOOD = batch([NOW_MS])
BAD = batch([NOW_MS + 2 * HOUR_MS])
ON_39 = {0: (0, 11), FETCH: (0, 17)}
ON_4 = {0: (0, 13), FETCH: (4, 18)}


def versions_told(offers, error_code=0, correlation_id=1):
    rows = b"".join(struct.pack(">3h", key, *versions) for key, versions in offers.items())
    return answer(API_VERSIONS, 0, struct.pack(">hi", error_code, len(offers)) + rows, correlation_id)


def session_told(offers, view=None, **options):
    session = Session(PEER, view or view_of(), uses_fast_path=True)
    session.client_bytes(request(API_VERSIONS, 0), NOW_MS)
    session.broker_bytes(versions_told(offers, **options), NOW_MS)
    return session


def closes(effects):
    return [each.reason for each in effects if isinstance(each, CloseSession)] == [
        CloseReason.UNSUPPORTED_REQUEST
    ]


def test_brokers_from_4_0_on_take_no_produce_below_3_whatever_they_offer():
    assert produce_versions(ON_4) == (3, 13)
    assert produce_versions(ON_39) == (0, 11)
    assert produce_versions({18: (0, 4)}) == (0, -1), "a controller"


@pytest.mark.parametrize("records", [GOOD, BAD], ids=["good", "bad"])
@pytest.mark.parametrize(
    ("offers", "version", "is_taken"),
    [
        (ON_39, 12, False),
        (ON_39, 11, True),
        (ON_39, 2, True),
        (ON_4, 2, False),
        (ON_4, 3, True),
        (ON_4, 12, True),
    ],
)
def test_a_version_that_the_broker_does_not_take_closes_the_connection(records, offers, version, is_taken):
    """Produce 12 with bad batches alone had an answer before a 3.9.1 broker, which closes."""
    session = session_told(offers)
    effects = session.client_bytes(produce({"t": {0: records}}, version=version, correlation_id=2), NOW_MS)
    assert closes(effects) is not is_taken
    assert any(isinstance(each, SendToBroker | SendToClient) for each in effects) is is_taken


def test_what_the_client_was_told_on_its_own_connection_goes_before_what_is_known_of_all():
    session = session_told(ON_39, replace(view_of(), produce_versions=(3, 13)))
    assert not closes(session.client_bytes(produce({"t": {0: GOOD}}, version=2, correlation_id=2), NOW_MS))


def test_a_client_that_does_not_ask_is_closed_where_no_broker_takes_its_version():
    asked = produce({"t": {0: BAD}}, version=12)
    view = replace(view_of(), produce_versions=(0, 11))
    assert (
        Conversation(view)
        >> client(asked)
        << noted("client_rejected")
        << closed(CloseReason.UNSUPPORTED_REQUEST)
    )


def test_while_nothing_is_known_a_request_is_judged_in_any_version():
    for version in (2, 12):
        session = Session(PEER, view_of(), uses_fast_path=True)
        assert not closes(session.client_bytes(produce({"t": {0: GOOD}}, version=version), NOW_MS))


def test_an_answer_that_offers_nothing_but_another_try_says_nothing_of_produce():
    session = session_told({18: (0, 4)}, error_code=35)
    assert not closes(session.client_bytes(produce({"t": {0: GOOD}}, version=12, correlation_id=2), NOW_MS))


def test_the_fast_path_forwards_no_version_that_would_be_closed():
    """Also where it had passed before: a view that changes is told to it at once."""
    session = Session(PEER, view_of(), uses_fast_path=True)
    session.client_bytes(produce({"t": {0: GOOD}}, version=12, correlation_id=1), NOW_MS)
    requests = session.fast_path.requests
    again = produce({"t": {0: GOOD}}, version=12, correlation_id=2)
    assert requests.forward_read(again, NOW_MS) == len(again)
    session.apply_view(replace(view_of(), produce_versions=(0, 11)), NOW_MS)
    session.client_bytes(produce({"t": {0: GOOD}}, version=11, correlation_id=3), NOW_MS)
    assert requests.forward_read(again, NOW_MS) == 0
    (told, *_) = session.client_bytes(again, NOW_MS)
    assert told.facts["reason"] == "unsupported_request", "it closes once the earlier ones are answered"


def test_the_fast_path_keeps_to_the_versions_that_the_broker_supports():
    table = fastpath.Table(PEER, None, 1000)
    table.add("t", LIMITS, LIMITS.before_max_ms, LIMITS.after_max_ms)
    requests = fastpath.RequestFilter(fastpath.InFlight(id), RELAYED, 1 << 27, 1 << 20, DecompressionBudget)
    requests.table, passed = table, {}
    for oldest, newest in ((0, 32767), (3, 11), (5, 8), (0, -1)):
        requests.oldest_produce, requests.newest_produce = oldest, newest
        frames = {
            version: produce({"t": {0: GOOD}}, version=version, client_id=None) for version in range(3, 14)
        }
        passed[oldest, newest] = [
            v
            for v, frame in frames.items()
            if requests.forward_buffered(frame, 0, 1, NOW_MS, DecompressionBudget())
        ]
    assert passed == {
        (0, 32767): [*range(3, 13)],
        (3, 11): [*range(3, 12)],
        (5, 8): [*range(5, 9)],
        (0, -1): [],
    }
