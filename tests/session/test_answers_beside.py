"""A large answer that must be read is read beside the loop, and all behind it wait their turn. Few of
a thousand culprits are read, all are counted, and the client gets every one."""

import struct
from dataclasses import replace

import pytest

from tests.attacks.steps import bytecodes
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import (
    API_VERSIONS,
    FIND_COORDINATOR,
    HEARTBEAT,
    METADATA,
    accepted,
    answer,
    out_of_range,
    produce,
    produced,
    rejected,
    request,
)
from tests.wire.batches import batch
from tsproxy.decisions.events import decision
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.totals import Totals
from tsproxy.session.effects import (
    CloseReason,
    CloseSession,
    Count,
    Emit,
    HoldBroker,
    NodeWanted,
    ReadAnswer,
    ReleaseBroker,
    SendToBroker,
    SendToClient,
)
from tsproxy.session.reading import MAX_ELEMENTS_HERE, MAX_READ_HERE
from tsproxy.wire import k00_produce

COORDINATORS = 4_000


def coordinators(node_id=1, host=b"broker", correlation_id=1):
    """A FindCoordinator answer (v4) of 120 KB that names a node four thousand times."""
    one = b"\x02k" + struct.pack(">i", node_id) + bytes([len(host) + 1]) + host + struct.pack(">ih", 9092, 0)
    one += b"\x00\x00"
    count = COORDINATORS + 1
    body = bytes(4) + bytes([count & 0x7F | 0x80, count >> 7]) + one * COORDINATORS + b"\x00"
    return answer(FIND_COORDINATOR, 4, body, correlation_id)


ASKED = request(FIND_COORDINATOR, 4, b"\x00\x01\x00")
BEHIND = request(HEARTBEAT, 4, correlation_id=2)
ANSWER_BEHIND = answer(HEARTBEAT, 4, bytes(7), correlation_id=2)


def asking(*requests, uses_fast_path=True, **view):
    one = Session(PEER, view_of(**view), uses_fast_path=uses_fast_path)
    one.client_bytes(b"".join(requests or (ASKED,)), NOW_MS)
    return one


def kinds(effects):
    return [type(effect) for effect in effects]


def sent(effects):
    return b"".join(effect.data for effect in effects if isinstance(effect, SendToClient))


def test_a_large_answer_is_read_beside_the_loop_and_goes_on_when_it_is_read():
    one = asking()
    effects, count = bytecodes(one.broker_bytes, coordinators(), NOW_MS)

    assert kinds(effects) == [ReadAnswer]
    assert count < 2_000
    assert sent(one.answer_read(effects[0].job(), NOW_MS)) == coordinators(host=b"proxy.example").replace(
        struct.pack(">i", 9092), struct.pack(">i", 9193)
    )
    assert one.held_bytes == 0


@pytest.mark.parametrize(
    ("brokers", "is_here"), [(MAX_ELEMENTS_HERE, True), (MAX_ELEMENTS_HERE + 1, False), (3_000, False)]
)
@pytest.mark.parametrize("unserved", [(), (7,)], ids=["all are served", "one is left out"])
def test_an_answer_with_many_brokers_is_read_beside_the_loop(brokers, is_here, unserved):
    """One takes up to 4 us of the loop, and may have 18 bytes: 3,000 took 11 ms."""
    one = asking(request(METADATA))
    one.apply_view(replace(view_of(), unserved=frozenset(unserved)), NOW_MS)
    node = struct.pack(">ih", 1, 6) + b"broker" + struct.pack(">i", 9092)
    told = struct.pack(">i", brokers) + node * brokers + bytes(4)
    effects, count = bytecodes(one.broker_bytes, answer(METADATA, 0, told), NOW_MS)

    assert kinds(effects) == [SendToClient if is_here else ReadAnswer]
    assert is_here or count < 3_000
    if not is_here:
        effects = one.answer_read(effects[0].job(), NOW_MS)
    assert sent(effects).count(b"proxy.example") == brokers


def test_an_answer_with_many_settings_is_read_beside_the_loop():
    asked = request(32, 0, struct.pack(">ibh", 1, 4, 1) + b"1" + b"\xff\xff\xff\xff")
    one = asking(asked)
    setting = b"\x00\x09listeners\x00\x06broker" + bytes(3)
    resource = struct.pack(">ihhbh", 1, 0, -1, 4, 1) + b"1" + struct.pack(">i", 1_000)
    effects, count = bytecodes(one.broker_bytes, answer(32, 0, bytes(4) + resource + setting * 1_000), NOW_MS)

    assert kinds(effects) == [ReadAnswer]
    assert count < 3_000
    masked = b"\x00\x09listeners\xff\xff" + bytes(3)
    assert sent(one.answer_read(effects[0].job(), NOW_MS)).endswith(masked * 1_000)


def test_small_answers_are_read_at_once_until_they_are_many():
    """The answers of one read are read in one go, however many they are."""
    asked = [request(METADATA, correlation_id=n) for n in range(800)]
    node = struct.pack(">iih", 1, 1, 200) + b"h" * 200 + struct.pack(">ii", 9092, 0)
    one = asking(*asked)
    effects = one.broker_bytes(b"".join(answer(METADATA, 0, node, n) for n in range(800)), NOW_MS)

    assert kinds(effects) == [SendToClient, ReadAnswer]
    read = MAX_READ_HERE // (len(node) + 4)
    assert one.requests_answered == read
    assert kinds(one.answer_read(effects[1].job(), NOW_MS)) == [SendToClient, ReadAnswer]
    assert one.requests_answered == 2 * read + 1


def test_answers_behind_it_wait_and_the_client_may_go_on_asking():
    one = asking(ASKED, BEHIND)
    first = one.broker_bytes(coordinators(host=b"proxy.example") + ANSWER_BEHIND, NOW_MS)
    third = request(HEARTBEAT, 4, correlation_id=3)

    assert kinds(first) == [ReadAnswer]
    assert one.client_bytes(third, NOW_MS) == [SendToBroker(third)]
    assert one.broker_bytes(answer(HEARTBEAT, 4, bytes(7), 3), NOW_MS) == []
    assert one.held_bytes >= len(coordinators())
    assert sent(one.answer_read(first[0].job(), NOW_MS)).endswith(
        ANSWER_BEHIND + answer(HEARTBEAT, 4, bytes(7), 3)
    )
    assert one.in_flight_requests == 0


def test_a_node_that_is_not_served_is_waited_for_and_the_answer_read_anew():
    one = asking(nodes=[1])
    (reading,) = one.broker_bytes(coordinators(7), NOW_MS)
    effects = one.answer_read(reading.job(), NOW_MS)

    assert effects == [HoldBroker(), NodeWanted(7, "broker", 9092)]
    assert one.broker_bytes(b"", NOW_MS) == []
    (reading,) = one.apply_view(view_of(nodes=[1, 7]), NOW_MS)
    effects = one.answer_read(reading.job(), NOW_MS)
    assert kinds(effects) == [SendToClient, ReleaseBroker]


def test_a_node_that_is_not_served_in_time_is_left_out():
    one = asking(nodes=[1])
    (reading,) = one.broker_bytes(coordinators(7), NOW_MS)
    one.answer_read(reading.job(), NOW_MS)
    (reading,) = one.deadline_passed(one.next_deadline_ms)
    effects = one.answer_read(reading.job(), NOW_MS)
    assert kinds(effects) == [SendToClient, Count, ReleaseBroker]
    assert b"broker" not in sent(effects)


def test_a_node_that_comes_while_the_answer_is_read_is_found():
    one = asking(nodes=[1])
    (reading,) = one.broker_bytes(coordinators(7), NOW_MS)
    told = reading.job()
    assert one.apply_view(view_of(nodes=[1, 7]), NOW_MS) == []
    effects = one.answer_read(told, NOW_MS)

    assert kinds(effects) == [HoldBroker, NodeWanted, ReadAnswer]
    assert kinds(one.answer_read(effects[2].job(), NOW_MS)) == [SendToClient, ReleaseBroker]


@pytest.mark.parametrize("cut", [4, 1_000])
def test_a_large_answer_that_cannot_be_read_closes_the_session(cut):
    whole = coordinators()
    damaged = (len(whole) - 4 - cut).to_bytes(4, "big") + whole[4:-cut]
    one = asking()
    (reading,) = one.broker_bytes(damaged, NOW_MS)
    effects = one.answer_read(reading.job(), NOW_MS)

    assert kinds(effects)[-1] is CloseSession
    assert effects[-1].reason is CloseReason.BAD_ANSWER


def test_a_session_that_has_ended_takes_no_answer_any_more():
    one = asking()
    (reading,) = one.broker_bytes(coordinators(), NOW_MS)
    one.abort()

    assert one.answer_read(reading.job(), NOW_MS) == []


def test_what_became_of_many_batches_is_told_when_the_answer_was_read():
    good = batch([NOW_MS])
    partitions = range(2_500)
    one = Session(PEER, view_of(), uses_fast_path=True)
    one.ask(produce({"t": dict.fromkeys(partitions, good)}))
    told = produced({"t": dict.fromkeys(partitions, accepted())})
    (reading,) = one.broker_bytes(told, NOW_MS)
    effects = one.answer_read(reading.job(), NOW_MS)

    assert kinds(effects) == [SendToClient] + [Emit] * len(partitions)
    assert sent(effects) == told


def test_versions_are_narrowed_on_the_loop():
    one = asking(request(API_VERSIONS))
    offered = answer(API_VERSIONS, 0, struct.pack(">hi3h", 0, 1, 3, 0, 4))

    assert one.broker_bytes(offered, NOW_MS) == [SendToClient(offered)]


# -- Long answers -------------------------------------------------------------------------------------


GOOD, BAD = batch([NOW_MS]), batch([0])
KEYLESS = "Compacted topic cannot accept message without key in topic partition t-0."
MANY = 5_000
RECORDS = batch([NOW_MS] * MANY)


def answered(*topics_and_answers, version=9):
    """The way of one request: (the frame for the client, the outcomes)."""
    one = Session(PEER, view_of())
    asked, told = topics_and_answers
    one.client_bytes(produce(asked, version), NOW_MS)
    effects = one.tell(produced(told, version))
    frames = b"".join(effect.data for effect in effects if isinstance(effect, SendToClient))
    return frames, [effect.outcome for effect in effects if isinstance(effect, Emit)]


def keyless(count):
    return {**rejected(*((index, KEYLESS) for index in range(count))), "error_code": 87}


@pytest.mark.parametrize("version", [8, 9, 12])
@pytest.mark.parametrize("count", [1, 20, 21, 22, MANY])
def test_all_are_counted_and_the_answer_goes_on_as_it_came(version, count):
    told = {"t": {0: keyless(count)}}
    frame, (outcome,) = answered({"t": {0: RECORDS}}, told, version=version)

    assert frame == produced(told, version)
    assert outcome.bad_records == count
    assert outcome.reason == "no_key"
    assert [culprit.batch_index for culprit in outcome.culprits[:20]] == list(range(min(count, 20)))
    assert (len(outcome.culprits) > 20) == (count > 20)


@pytest.mark.parametrize("version", [8, 9])
def test_merged_with_rejections_of_ours_every_culprit_is_still_told(version):
    told = {"t": {0: keyless(MANY)}}
    frame, (outcome,) = answered({"t": {0: RECORDS, 1: BAD}}, told, version=version)
    start = 9 if version >= 9 else 8
    response = k00_produce.read_response(version, frame[start:])
    alone = k00_produce.read_response(version, produced(told, version)[start:])

    (topic,) = response.topics
    assert topic.partitions[0] == alone.topics[0].partitions[0]
    assert [partition.error_code for partition in topic.partitions] == [87, 32]
    assert outcome.bad_records == MANY


def test_the_lowest_and_the_highest_time_of_all_are_told():
    times = [NOW_MS - n for n in range(MANY)]
    times[MANY // 2], times[-2] = 7, NOW_MS * 1000
    told = {"t": {0: rejected(*(out_of_range(time_ms, n) for n, time_ms in enumerate(times)))}}
    _, (outcome,) = answered({"t": {0: RECORDS}}, told)
    line = decision(Totals.of(outcome), outcome, 0, Privacy())

    assert (line["bad_ts_min"], line["bad_ts_max"]) == (7, NOW_MS * 1000)
    assert (line["bad_index"], line["bad_ts"]) == (list(range(20)), times[:20])
    assert line["bad_index_truncated"]
    assert line["bad_records"] == MANY


def test_a_long_answer_costs_no_object_an_error():
    one = Session(PEER, view_of())
    one.client_bytes(produce({"t": {0: RECORDS}}), NOW_MS)
    told = produced({"t": {0: keyless(MANY)}})
    _, count = bytecodes(one.tell, told)

    assert count < 20_000
