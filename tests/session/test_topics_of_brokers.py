"""Produce to topics that only brokers write is answered here, as a broker answers everybody."""

import pytest

from tests.session.conversation import (
    NOW_MS,
    PEER,
    Conversation,
    booked,
    broker,
    client,
    closed,
    to_broker,
    to_client,
    view_of,
)
from tests.session.messages import ALL_VERSIONS, accepted, produce, produced
from tests.wire.batches import batch
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.policy import Mode, Policy
from tsproxy.model.verdict import Reason
from tsproxy.session.effects import CloseReason

OFFSETS, GOOD = "__consumer_offsets", batch([NOW_MS])
INTERNAL = {"error_code": ErrorCode.INVALID_TOPIC_EXCEPTION}
ADMIN = "__admin_client"


def talk(uses_fast_path, **more):
    return Conversation(view_of(topics=("t", OFFSETS), **more), PEER, uses_fast_path=uses_fast_path)


@pytest.mark.parametrize("uses_fast_path", [True, False])
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_request_for_them_alone_is_answered_each_time(version, uses_fast_path):
    asked = produce({OFFSETS: {0: GOOD, 7: GOOD}}, version, client_id=ADMIN)
    said = produced({OFFSETS: {0: INTERNAL, 7: INTERNAL}}, version)
    conversation = talk(uses_fast_path, throttle_ms=None)
    for _ in range(3):
        assert (
            conversation
            >> client(asked)
            << to_client(said)
            << booked("rejected", topic=OFFSETS, partition=0)
            << booked("rejected", topic=OFFSETS, partition=7)
        )


@pytest.mark.parametrize("uses_fast_path", [True, False])
@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_the_other_partitions_of_the_request_go_on(version, uses_fast_path):
    asked = produce({OFFSETS: {0: GOOD}, "t": {0: GOOD}}, version, client_id=ADMIN)
    carried = produce({"t": {0: GOOD}}, version, client_id=ADMIN)
    said = produced({"t": {0: accepted()}}, version)
    conversation = talk(uses_fast_path, throttle_ms=None)
    for _ in range(3):
        assert (
            conversation
            >> client(asked)
            << to_broker(carried)
            << booked("rejected", topic=OFFSETS)
            >> broker(said)
            << to_client(produced({"t": {0: accepted()}, OFFSETS: {0: INTERNAL}}, version))
            << booked("accepted", topic="t")
        )


@pytest.mark.parametrize("uses_fast_path", [True, False])
def test_with_acks_0_the_rest_goes_on_and_the_connection_closes(uses_fast_path):
    asked = produce({OFFSETS: {0: GOOD}, "t": {0: GOOD}}, acks=0, client_id=ADMIN)
    assert (
        talk(uses_fast_path)
        >> client(asked)
        << to_broker(produce({"t": {0: GOOD}}, acks=0, client_id=ADMIN))
        << booked("rejected", topic=OFFSETS)
        << booked("unconfirmed", topic="t")
        << closed(CloseReason.ACKS_ZERO_REJECTED)
    )


@pytest.mark.parametrize("uses_fast_path", [True, False])
@pytest.mark.parametrize("mode", [Mode.AUDIT, Mode.OFF])
def test_where_nothing_is_enforced_the_broker_answers(mode, uses_fast_path):
    """The fast path forwards none of them in audit mode either: each is counted."""
    asked, said = produce({OFFSETS: {0: GOOD}}, client_id=ADMIN), produced({OFFSETS: {0: accepted()}})
    conversation = talk(uses_fast_path, policy=Policy(mode=mode))
    reason = Reason.OTHER if mode is Mode.AUDIT else None
    for _ in range(2 if mode is Mode.AUDIT else 1):
        assert (
            conversation
            >> client(asked)
            << to_broker(asked)
            >> broker(said)
            << to_client(said)
            << booked("accepted", topic=OFFSETS, would_reject=mode is Mode.AUDIT, reason=reason)
        )
