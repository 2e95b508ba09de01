"""A batch that was answered with an error is booked by what its client does about it (`model.sent_again`)."""

from dataclasses import replace

import pytest

from tests.session.conversation import (
    NOW_MS,
    PEER,
    SECOND_MS,
    Conversation,
    booked,
    broker,
    client,
    to_broker,
    to_client,
)
from tests.session.messages import produce, produced
from tests.wire.batches import batch
from tsproxy.model.verdict import Reason

SEVERAL = batch([NOW_MS, NOW_MS - SECOND_MS])
ONE = batch([NOW_MS])
JAVA = "apache-kafka-java/4.3.1"
LIBRDKAFKA = "librdkafka/2.16.1"


def the_booking_of(code, records=SEVERAL, software=None, transactional_id=None, **facts):
    """A forwarded batch that the broker answers with `code`: whether it is booked with these facts."""
    asked = produce({"t": {0: records}}, transactional_id=transactional_id)
    said = produced({"t": {0: {"error_code": code}}})
    return (
        Conversation(peer=replace(PEER, client_software=software))
        >> client(asked)
        << to_broker(asked)
        >> broker(said)
        << to_client(said)
        << booked(facts.pop("verdict"), error_code=code, **facts)
    )


def test_java_splits_a_batch_that_is_too_large_and_sends_its_records_again():
    assert the_booking_of(10, software=JAVA, verdict="broker_rejected", is_final=False)


@pytest.mark.parametrize("software", ["kafka-python/3.0.12", "kafka-python/12.0"])
def test_kafka_python_splits_it_as_well(software):
    assert the_booking_of(10, software=software, verdict="broker_rejected", is_final=False)


@pytest.mark.parametrize("software", [JAVA, LIBRDKAFKA, None])
def test_one_record_that_is_too_large_is_rejected_for_good(software):
    """`Sender.completeBatch`: only a batch of more than one record can be split."""
    assert the_booking_of(10, ONE, software, verdict="broker_rejected", is_final=True)


@pytest.mark.parametrize("software", [LIBRDKAFKA, "confluent-kafka-python/2.16.1-librdkafka-2.16.1"])
def test_librdkafka_gives_up_each_record_of_a_batch_that_is_too_large(software):
    assert the_booking_of(10, software=software, verdict="broker_rejected", is_final=True)


@pytest.mark.parametrize("software", [None, "somebody/1.0", "kafka-python/2.0.2", "kafka-python/x"])
def test_of_a_client_that_may_split_or_not_neither_is_said(software):
    """A Java client before 2.4 says nothing of itself, and splits; aiokafka says nothing, and does not."""
    assert the_booking_of(
        10, software=software, verdict="unconfirmed", is_final=True, reason=Reason.BAD_RECORD
    )


@pytest.mark.parametrize("code", [45, 59])
def test_an_idempotent_producer_sends_again_what_is_out_of_order(code):
    assert the_booking_of(code, verdict="broker_rejected", is_final=False)


@pytest.mark.parametrize("code", [45, 59])
def test_of_a_transactional_producer_nobody_can_tell(code):
    """`TransactionManager.canRetry`: the next batch in order fails for good, another is sent again."""
    assert the_booking_of(code, transactional_id="tx", verdict="unconfirmed", is_final=True)


@pytest.mark.parametrize("code", [5, 13, 51, 100])
@pytest.mark.parametrize("transactional_id", [None, "tx"])
def test_a_retriable_error_is_a_repetition(code, transactional_id):
    assert the_booking_of(code, transactional_id=transactional_id, verdict="broker_rejected", is_final=False)


def test_what_the_broker_has_already_is_a_repetition():
    """`Sender.completeBatch`: DUPLICATE_SEQUENCE_NUMBER is a success without an offset."""
    assert the_booking_of(46, verdict="broker_rejected", is_final=False)


@pytest.mark.parametrize("code", [-1, 17, 18, 29, 32, 47, 48, 49, 53, 76, 87, 200])
def test_any_other_error_is_final(code):
    assert the_booking_of(code, verdict="broker_rejected", is_final=True)
