"""A ProduceRequest is forwarded, rejected or split. Its answer is the broker's, ours, or both merged."""

from dataclasses import replace
from itertools import product

import pytest

from tests.fastpath.test_filters import Filters
from tests.session.conversation import (
    DAY_MS,
    HOUR_MS,
    LIMITS,
    NOW_MS,
    PEER,
    SECOND_MS,
    Conversation,
    Session,
    booked,
    broker,
    broker_is_lost,
    client,
    client_is_lost,
    closed,
    forwarded,
    relayed,
    returned,
    to_broker,
    to_client,
    topic_wanted,
    view_by,
    view_of,
)
from tests.session.messages import (
    ALL_VERSIONS,
    HEARTBEAT,
    REJECTED_TEXT,
    accepted,
    answer,
    out_of_range,
    produce,
    produce_entries,
    produced,
    rejected,
    request,
)
from tests.wire.batches import GZIP, LZ4, batch, record, unsigned
from tsproxy.decisions.totals import culprit_times_ms
from tsproxy.model.outcome import Culprit
from tsproxy.model.policy import Choice
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import Reason, UnitGuess
from tsproxy.session.effects import CloseReason, CloseSession, Emit, SendToBroker

GOOD = batch([NOW_MS, NOW_MS - SECOND_MS])
AHEAD_MS = NOW_MS + 2 * HOUR_MS
BAD = batch([NOW_MS, AHEAD_MS])


# -- Forward all ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
def test_an_accepted_request_and_its_answer_pass_as_they_came(version, acks):
    asked = produce({"t": {0: GOOD, 1: GOOD}, "u": {0: GOOD}}, version, acks)
    said = produced({"u": {0: accepted(9)}, "t": {1: accepted(8), 0: accepted(7)}}, version)
    assert (
        Conversation()
        >> relayed(asked, said)
        << booked("accepted", topic="t", partition=0, acks=acks, api_version=version)
        << booked("accepted", topic="t", partition=1)
        << booked("accepted", topic="u", partition=0)
    )


@pytest.mark.parametrize(("of_topic", "is_forwarded"), [(None, True), (GZIP, True), (LZ4, False)])
def test_lengths_of_records_are_compared_where_a_broker_compresses_anew(of_topic, is_forwarded):
    asked = produce({"t": {0: batch([NOW_MS], GZIP, records=[record(length=1_000)])}})
    effects = Session(PEER, view_of(limits=replace(LIMITS, codec=of_topic))).client_bytes(asked, NOW_MS)
    assert (SendToBroker(asked) in effects) == is_forwarded


def test_what_is_odd_but_not_ours_to_judge_passes_as_it_came():
    """Unknown tags, a trailing byte after the body, null client id: the frame is the broker's to read."""
    body = produce({"t": {0: GOOD}}, client_id=None)
    tagged = body[4:-1] + b"\x01\x07\x02hi" + b"trailing"
    asked = len(tagged).to_bytes(4, "big") + tagged
    assert Conversation() >> forwarded(asked)


def test_a_request_without_topics_is_the_brokers_to_answer():
    asked, said = produce({}), produced({})
    assert Conversation() >> relayed(asked, said)


def test_the_facts_of_an_accepted_batch_are_booked():
    asked = produce({"t": {3: GOOD}}, transactional_id="tx", client_id="orders")
    facts = BatchFacts(
        magic=2,
        codec="none",
        batch_bytes=len(GOOD),
        records=2,
        producer_id=-1,
        producer_epoch=-1,
        min_timestamp_ms=NOW_MS - SECOND_MS,
        max_timestamp_ms=NOW_MS,
    )
    said = produced({"t": {3: accepted()}})
    assert (
        Conversation()
        >> relayed(asked, said)
        << booked(
            "accepted",
            batch=facts,
            limits=LIMITS,
            now_ms=NOW_MS,
            transactional_id="tx",
            correlation_id=1,
            culprits=(),
            bad_records=0,
            reason=None,
            error_code=0,
        )
    )


# -- Reject all -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
def test_a_rejected_request_never_reaches_the_broker(version, acks):
    """KIP-467's fields are on the wire from v8; below it the code stands alone."""
    conversation = (
        Conversation()
        >> client(produce({"t": {0: BAD}}, version, acks, correlation_id=77))
        << to_client(produced({"t": {0: rejected(out_of_range(AHEAD_MS, 1))}}, version, correlation_id=77))
    )
    assert conversation << booked(
        "rejected",
        topic="t",
        partition=0,
        error_code=32,
        error_message=REJECTED_TEXT,
        reason=Reason.TOO_FAR_AHEAD,
        culprits=(Culprit(1, AHEAD_MS),),
        bad_records=1,
        rule="topic-limits",
        is_final=True,
    )


def test_a_culprit_without_a_timestamp_is_named_and_has_no_part_in_their_range():
    conversation = Conversation(view_by("r", no_timestamp=Choice.REJECT))
    effects = conversation.session.client_bytes(produce({"t": {0: batch([-1, AHEAD_MS])}}), NOW_MS)
    (outcome,) = (effect.outcome for effect in effects if isinstance(effect, Emit))
    assert outcome.culprits == (Culprit(0, -1), Culprit(1, AHEAD_MS))
    assert culprit_times_ms(outcome) == (AHEAD_MS, AHEAD_MS, AHEAD_MS)


def test_outcomes_name_the_request_that_brought_their_batch():
    """The decision log counts each request once, whatever its correlation id."""
    session = Conversation().session
    effects = [session.client_bytes(produce({"t": {0: BAD, 1: BAD}}), NOW_MS) for _ in range(2)]
    first, second = ([one.outcome.request for one in some if isinstance(one, Emit)] for some in effects)
    assert (len(first), len(second)) == (2, 2)
    assert first[0] is first[1]
    assert second[0] is second[1]
    assert first[0] is not second[0]


def test_culprits_above_the_limit_of_all_partitions_together_are_counted_but_not_listed():
    """One small request must not make a huge answer, however it spreads its bad records."""
    culprits = [out_of_range(AHEAD_MS, 0), out_of_range(AHEAD_MS, 1)]
    assert (
        Conversation(view_of(culprits_listed=3))
        >> client(produce({"t": {0: batch([AHEAD_MS] * 2), 1: batch([AHEAD_MS] * 2)}}))
        << to_client(produced({"t": {0: rejected(*culprits), 1: rejected(culprits[0])}}))
        << booked("rejected", bad_records=2, culprits=(Culprit(0, AHEAD_MS), Culprit(1, AHEAD_MS)))
        << booked("rejected", bad_records=2, culprits=(Culprit(0, AHEAD_MS),))
    )


# -- Limits that are not known yet ------------------------------------------------------------------


def test_a_topic_whose_limits_are_unknown_is_left_to_the_broker_and_wanted():
    asked = produce({"new": {0: BAD}, "t": {0: GOOD}})
    said = produced({"t": {0: accepted()}, "new": {0: rejected(out_of_range(AHEAD_MS, 1))}})
    assert (
        Conversation()
        >> forwarded(asked)
        << topic_wanted("new")
        >> returned(said)
        << booked("broker_rejected", topic="new", limits=None, culprits=(Culprit(1, AHEAD_MS),))
        << booked("accepted", topic="t")
    )


# -- The broker's own verdict -----------------------------------------------------------------------


REJECTIONS = {
    "as its own": (
        {"error_code": 87, "error_message": "no"},
        {"error_code": 87, "error_message": "no", "reason": Reason.BAD_RECORD, "is_final": True}
        | {"bad_records": 2, "culprits": (), "rule": None},
    ),
    # Its clock may run ahead of ours: what passes here may be rejected there.
    "with the times that its texts name": (
        rejected((0, out_of_range(NOW_MS + 1, 0)[1]), (1, None)),
        {"reason": Reason.TOO_FAR_AHEAD, "bad_records": 2}
        | {"culprits": (Culprit(0, NOW_MS + 1), Culprit(1, None))},
    ),
}


@pytest.mark.parametrize(("told", "facts"), REJECTIONS.values(), ids=REJECTIONS)
def test_the_brokers_rejection_is_booked(told, facts):
    conversation = Conversation() >> relayed(produce({"t": {0: GOOD}}), produced({"t": {0: told}}))
    assert conversation << booked("broker_rejected", **facts)


@pytest.mark.parametrize(
    ("times", "reason", "unit_guess"),
    [
        ([NOW_MS + HOUR_MS], Reason.TOO_FAR_AHEAD, None),
        ([NOW_MS - HOUR_MS, NOW_MS + SECOND_MS], Reason.TOO_OLD, None),
        ([NOW_MS - HOUR_MS, NOW_MS + HOUR_MS], Reason.TOO_OLD, None),
        ([NOW_MS - SECOND_MS, NOW_MS + HOUR_MS], Reason.TOO_FAR_AHEAD, None),
        ([NOW_MS, NOW_MS * 1_000_000], Reason.TOO_FAR_AHEAD, UnitGuess.NANOSECONDS),
        ([NOW_MS // 1000, NOW_MS], Reason.TOO_OLD, UnitGuess.SECONDS),
        ([-1], Reason.OTHER, None),
    ],
)
def test_below_v8_the_reason_of_a_rejected_time_is_read_from_the_batch(times, reason, unit_guess):
    """An answer below v8 names no culprits: the time furthest from the clock is the likeliest one."""
    asked = produce({"new": {0: batch(times)}}, version=7)
    said = produced({"new": {0: {"error_code": 32}}}, version=7)
    assert (
        Conversation()
        >> forwarded(asked)
        << topic_wanted("new")
        >> returned(said)
        << booked("broker_rejected", reason=reason, unit_guess=unit_guess, bad_records=len(times))
    )


def test_a_partition_that_the_broker_forgot_is_unconfirmed():
    asked = produce({"t": {0: GOOD}})
    said = produced({})
    assert Conversation() >> relayed(asked, said) << booked("unconfirmed")


@pytest.mark.parametrize("end", [client_is_lost, broker_is_lost])
def test_what_was_forwarded_and_not_answered_when_the_connection_ends_is_unconfirmed(end):
    first = produce({"t": {0: GOOD, 1: BAD}})
    second = produce({"t": {2: GOOD}}, correlation_id=2)
    assert (
        Conversation()
        >> client(first, second)
        << to_broker(produce({"t": {0: GOOD}}), second)
        << booked("rejected", partition=1)
        >> end
        << booked("unconfirmed", partition=0, correlation_id=1)
        << booked("unconfirmed", partition=2, correlation_id=2)
        << closed(CloseReason.PEER_CLOSED)
        >> end
    )


# -- A part of a request is rejected ------------------------------------------------------------------


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
    assert Conversation() >> forwarded(asked, heartbeat) << booked("unconfirmed", acks=0) >> returned(beat)


LATE_MS = NOW_MS - 3 * DAY_MS
REJECTED = {"too large": ([LATE_MS] * 20, {}, 10), "a wrong checksum": ([LATE_MS], {"crc": 1}, 2)}


@pytest.mark.parametrize("acks", [0, -1])
@pytest.mark.parametrize(("times", "header", "code"), REJECTED.values(), ids=REJECTED)
def test_with_acks_0_no_code_makes_a_client_send_again(times, header, code, acks):
    """The client never learns the code, and takes the batch for sent."""
    view = view_of(limits=replace(LIMITS, max_message_bytes=len(GOOD)))
    session = Session(replace(PEER, client_software=JAVA), view)
    effects = session.client_bytes(produce({"t": {0: batch(times, **header)}}, acks=acks), NOW_MS)
    [outcome] = [effect.outcome for effect in effects if isinstance(effect, Emit)]
    assert (outcome.verdict, outcome.error_code) == ("rejected", code)
    assert outcome.is_final is (acks == 0)


def test_with_acks_0_the_good_partitions_go_on_and_the_connection_closes():
    assert (
        Conversation()
        >> client(produce({"t": {0: BAD, 1: GOOD}}, acks=0))
        << to_broker(produce({"t": {1: GOOD}}, acks=0))
        << booked("rejected", partition=0)
        << booked("unconfirmed", partition=1)
        << closed(CloseReason.ACKS_ZERO_REJECTED, text="a batch sent with acks=0 was rejected")
    )


# -- What the client does about an error --------------------------------------------------------------


JAVA, LIBRDKAFKA = "apache-kafka-java/4.3.1", "librdkafka/2.16.1"
AGAIN, FOR_GOOD, UNKNOWN = ("broker_rejected", False), ("broker_rejected", True), ("unconfirmed", True)
ENDINGS = {
    "Java splits a batch that is too large, and sends its records again": ([10], AGAIN, [JAVA]),
    "kafka-python splits it as well": ([10], AGAIN, ["kafka-python/3.0.12", "kafka-python/12.0"]),
    "librdkafka gives up each record of it": (
        [10],
        FOR_GOOD,
        [LIBRDKAFKA, "confluent-kafka-python/2.16.1-librdkafka-2.16.1"],
    ),
    # A Java client before 2.4 says nothing of itself, and splits; aiokafka says nothing, and does not.
    "others may split it or not": (
        [10],
        UNKNOWN,
        [None, "somebody/1.0", "kafka-python/2.0.2", "kafka-python/x"],
    ),
    "an idempotent producer sends again what is out of order": ([45, 59], AGAIN, [None]),
    "a retriable error is a repetition": ([2, 5, 6, 13, 51, 100], AGAIN, [None]),
    # `Sender.completeBatch`: DUPLICATE_SEQUENCE_NUMBER is a success without an offset.
    "so is what the broker has already": ([46], AGAIN, [None]),
    "any other error is final": ([-1, 17, 18, 29, 32, 47, 48, 49, 53, 76, 87, 200], FOR_GOOD, [None]),
}
OF_ONE_RECORD = {"nobody splits a batch of one": ([10], FOR_GOOD, [JAVA, LIBRDKAFKA, None])}
"""`Sender.completeBatch`: only a batch of more than one record can be split."""
IN_A_TRANSACTION = {
    # `TransactionManager.canRetry`: the next batch in order fails for good, another is sent again.
    "of what is out of order nobody can tell": ([45, 59], UNKNOWN, [None]),
    "a retriable error is a repetition, too": ([5, 13, 51, 100], AGAIN, [None]),
}
KINDS = [
    *((GOOD, None, *row) for row in ENDINGS.values()),
    *((batch([NOW_MS]), None, *row) for row in OF_ONE_RECORD.values()),
    *((GOOD, "tx", *row) for row in IN_A_TRANSACTION.values()),
]


@pytest.mark.parametrize(
    ("records", "transactional_id", "codes", "ending", "clients"),
    KINDS,
    ids=[*ENDINGS, *OF_ONE_RECORD, *IN_A_TRANSACTION],
)
def test_the_end_of_a_batch_is_what_its_client_makes_of_the_error(
    records, transactional_id, codes, ending, clients
):
    verdict, is_final = ending
    for code, software in product(codes, clients):
        asked = produce({"t": {0: records}}, transactional_id=transactional_id)
        said = produced({"t": {0: {"error_code": code}}})
        conversation = Conversation(peer=replace(PEER, client_software=software)) >> relayed(asked, said)
        assert conversation << booked(verdict, error_code=code, is_final=is_final), (code, software)


# -- A partition named twice ---------------------------------------------------------------------------


OTHER = batch([NOW_MS], value=b"w")

# A broker stores the last of its batches and answers once (`tests/verdicts/test_named_twice.py`).
TWICE = {
    "both right": [("t", [(0, GOOD), (0, OTHER)])],
    "the same batch": [("t", [(0, GOOD), (0, GOOD)])],
    "one wrong": [("t", [(0, BAD), (1, GOOD), (0, GOOD)])],
    "both wrong": [("t", [(0, BAD), (0, BAD)])],
    "in two entries of its topic": [("t", [(0, GOOD)]), ("u", [(0, GOOD)]), ("t", [(1, GOOD), (0, OTHER)])],
    "among many": [("t", [(n % 40, GOOD) for n in range(41)])],
    "of a topic that nobody knows": [("unknown", [(7, GOOD), (7, GOOD)])],
}


@pytest.mark.parametrize("entries", TWICE.values(), ids=TWICE)
@pytest.mark.parametrize("version", [2, 3, 9, 12])
@pytest.mark.parametrize("acks", [-1, 0])
def test_the_connection_closes_and_nothing_goes_on(entries, version, acks):
    session = Session(PEER, view_of(), uses_fast_path=True)
    session.client_bytes(produce_entries([("t", [(0, GOOD)])]), NOW_MS)
    session.broker_bytes(produced({"t": {0: {}}}), NOW_MS)  # the fast path knows its topic from here on

    effects = session.client_bytes(produce_entries(entries, version, acks), NOW_MS)

    (closed,) = [each for each in effects if isinstance(each, CloseSession)]
    assert closed.reason is CloseReason.BAD_FRAME
    name, number = entries[0][0], 7 if entries[0][0] == "unknown" else 0
    assert f"names {name}-{number} twice" in closed.text
    assert not [each for each in effects if isinstance(each, SendToBroker | Emit)]


def passes(entries):
    """True if the fast path forwards the request; it knows the topics."""
    asked = produce_entries(entries)
    return Filters().passes(asked) == len(asked)


MANY = {
    "ascending": list(range(100)),
    "descending": list(range(100))[::-1],
    "in turn": [*range(50, 100), *range(50)],
    "few": [3, 1, 2],
}
"""Partitions, each once, in an order that a client may write them in."""


@pytest.mark.parametrize("order", MANY.values(), ids=MANY)
def test_in_whichever_order_each_once_passes_and_one_twice_does_not(order):
    once = [("t", [(n, GOOD) for n in order])]
    assert passes(once)
    for double in (order[0], order[-1], order[len(order) // 2]):
        assert not passes([("t", [*once[0][1], (double, OTHER)])])
        assert not passes([*once, ("t", [(double, OTHER)])])


def test_a_topic_named_twice_with_other_partitions_passes():
    assert passes([("t", [(0, GOOD)]), ("u", [(0, GOOD), (1, GOOD)]), ("t", [(1, GOOD)])])
    assert passes([("t", [(n, GOOD) for n in range(40)]), ("t", [(n, GOOD) for n in range(40, 80)])])
