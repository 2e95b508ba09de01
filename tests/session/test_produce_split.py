"""A ProduceRequest with good and bad partitions is split; its answer is the broker's and ours, merged."""

import pytest

from tests.session.conversation import (
    HOUR_MS,
    NOW_MS,
    SECOND_MS,
    Conversation,
    booked,
    broker,
    client,
    closed,
    to_broker,
    to_client,
)
from tests.session.messages import (
    ALL_VERSIONS,
    HEARTBEAT,
    REJECTED_TEXT,
    accepted,
    answer,
    out_of_range,
    produce,
    produced,
    rejected,
    request,
)
from tests.wire.batches import batch, unsigned
from tsproxy.session.effects import CloseReason

GOOD = batch([NOW_MS, NOW_MS - SECOND_MS])
AHEAD_MS = NOW_MS + 2 * HOUR_MS
BAD = batch([NOW_MS, AHEAD_MS])


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_split_request_carries_the_good_partitions_and_its_answer_both(version):
    asked = produce({"t": {0: BAD, 1: GOOD}, "u": {0: BAD}}, version, transactional_id="tx")
    carried = produce({"t": {1: GOOD}}, version, transactional_id="tx")
    own = produced({"t": {1: accepted(42)}}, version, throttle_time_ms=17)
    both = produced(
        {
            "t": {1: accepted(42), 0: rejected(out_of_range(AHEAD_MS, 1))},
            "u": {0: rejected(out_of_range(AHEAD_MS, 1))},
        },
        version,
        throttle_time_ms=17,
    )
    assert (
        Conversation()
        >> client(asked)
        << to_broker(carried)
        << booked("rejected", topic="t", partition=0)
        << booked("rejected", topic="u", partition=0)
        >> broker(own)
        << to_client(both)
        << booked("accepted", topic="t", partition=1)
    )


def test_a_split_keeps_what_the_request_carries_besides():
    """Acks, timeout, transactional id, client id and unknown tags of request, topic and partition."""
    partitions = [b"\x00\x00\x00\x00" + compact(BAD) + b"\x00", b"\x00\x00\x00\x01" + compact(GOOD)]
    partitions[1] += b"\x01\x63\x01p"
    head = b"\x03tx" + b"\x00\x01" + b"\x00\x00\x00\x2a" + b"\x02" + b"\x02t"
    tail = b"\x01\x61\x01t" + b"\x01\x62\x01r"
    asked = request(0, 9, head + b"\x03" + b"".join(partitions) + tail, client_id="orders")
    carried = request(0, 9, head + b"\x02" + partitions[1] + tail, client_id="orders")
    assert Conversation() >> client(asked) << to_broker(carried) << booked("rejected", partition=0)


def test_a_merged_answer_keeps_what_the_broker_said_besides():
    """CurrentLeader, unknown tags of partition, topic, body and header; our partition comes behind."""
    asked = produce({"t": {0: BAD, 1: GOOD}}, version=10)
    current_leader = b"\x02" + b"\x00\x09" + b"\x00\x00\x00\x02\x00\x00\x00\x05\x00" + b"\x63\x01p"
    told = b"\x00\x00\x00\x01" + b"\x00\x06" + b"\xff" * 24 + b"\x01" + b"\x00" + current_leader
    code, text = out_of_range(AHEAD_MS, 1)
    ours = (
        b"\x00\x00\x00\x00" + b"\x00\x20" + b"\xff" * 24
        + b"\x02" + code.to_bytes(4, "big") + compact(text.encode()) + b"\x00"
        + compact(REJECTED_TEXT.encode()) + b"\x00"
    )  # fmt: skip
    tail = b"\x01\x61\x01t" + b"\x00\x00\x00\x07" + b"\x01\x62\x01r"
    header = b"\x00\x00\x00\x01" + b"\x01\x64\x01h"

    def said(partitions):
        payload = header + b"\x02" + b"\x02t" + partitions + tail
        return len(payload).to_bytes(4, "big") + payload

    assert (
        Conversation()
        >> client(asked)
        << to_broker(produce({"t": {1: GOOD}}, version=10))
        << booked("rejected", partition=0)
        >> broker(said(b"\x02" + told))
        << to_client(said(b"\x03" + told + ours))
        << booked("broker_rejected", partition=1, error_code=6, is_final=False)
    )


def compact(data):
    return unsigned(len(data) + 1) + data


# -- acks=0 -----------------------------------------------------------------------------------------


def test_with_acks_0_a_good_request_passes_and_no_answer_is_due():
    asked = produce({"t": {0: GOOD}}, acks=0)
    heartbeat = request(HEARTBEAT, correlation_id=2)
    beat = answer(HEARTBEAT, correlation_id=2)
    assert (
        Conversation()
        >> client(asked, heartbeat)
        << to_broker(asked, heartbeat)
        << booked("unconfirmed", acks=0)
        >> broker(beat)
        << to_client(beat)
    )


def test_with_acks_0_the_good_partitions_go_on_and_the_connection_closes():
    assert (
        Conversation()
        >> client(produce({"t": {0: BAD, 1: GOOD}}, acks=0))
        << to_broker(produce({"t": {1: GOOD}}, acks=0))
        << booked("rejected", partition=0)
        << booked("unconfirmed", partition=1)
        << closed(CloseReason.ACKS_ZERO_REJECTED)
    )


def test_with_acks_0_and_nothing_good_the_connection_closes_without_a_word():
    assert (
        Conversation()
        >> client(produce({"t": {0: BAD}}, acks=0))
        << booked("rejected")
        << closed(CloseReason.ACKS_ZERO_REJECTED)
    )
