"""Small requests that ask for much: a few hundred bytes may hold a million records, all culprits."""

import asyncio
import socket
from dataclasses import replace
from random import Random

import pytest
import zstandard

from tests.attacks.attacker import (
    HOST,
    PATIENCE_S,
    answer_to,
    port_of,
    produce,
    proxy_that_knows,
    resident_mib,
)
from tests.session.conversation import (
    LIMITS,
    NOW_MS,
    PEER,
    Conversation,
    Session,
    client,
    to_broker,
    view_of,
)
from tests.session.messages import HEARTBEAT, answer, request
from tests.session.messages import produce as asked
from tests.wire.batches import ZSTD, batch, record
from tsproxy import fastpath
from tsproxy.clock import Clock
from tsproxy.session import budget
from tsproxy.session.effects import (
    CloseReason,
    CloseSession,
    Judge,
    PauseClient,
    SendToBroker,
    SendToClient,
)
from tsproxy.session.produce.cost import OFFLOAD_RECORDS
from tsproxy.session.requests import RELAYED
from tsproxy.wire.k00_produce import MAX_PARTITIONS


def culprits(count, timestamp_ms=0):
    """`count` records, all out of range, in about a hundred bytes."""
    body = zstandard.ZstdCompressor().compress(record(0, 0, None, None) * count)
    return batch([timestamp_ms], ZSTD, body=body, records_count=count, last_offset_delta=count - 1)


EXPENSIVE = asked({"t": {0: culprits(OFFLOAD_RECORDS + 1)}})


def kinds(effects):
    return [type(effect) for effect in effects]


def test_a_request_of_few_bytes_and_many_records_is_judged_beside_the_loop():
    session = Conversation().session

    assert len(EXPENSIVE) < 300
    assert kinds(session.client_bytes(EXPENSIVE, NOW_MS)) == [Judge, PauseClient]


def unfolding(size, noise=0):
    """One innocent record of `size` bytes, in a few and `noise`."""
    value = Random(1).randbytes(noise) + bytes(size - noise)
    body = zstandard.ZstdCompressor().compress(record(0, 0, None, value))
    return asked({"t": {0: batch([NOW_MS], ZSTD, body=body, records_count=1)}})


@pytest.mark.parametrize("uses_fast_path", [False, True])
def test_few_bytes_that_unfold_to_many_are_judged_beside_the_loop(uses_fast_path):
    session = Session(PEER, view_of(), uses_fast_path=uses_fast_path)
    (sent,) = session.client_bytes(unfolding(1_000), NOW_MS)
    large = unfolding(budget.MAX_BYTES + 1)
    effects = session.client_bytes(large, NOW_MS)

    assert len(large) < 2_000
    assert kinds([sent, *effects]) == [SendToBroker, Judge, PauseClient]
    assert SendToBroker(large) in session.judged(effects[0].job(), NOW_MS)


@pytest.mark.parametrize("uses_fast_path", [False, True])
def test_requests_that_unfold_to_many_bytes_together_are_judged_beside_the_loop(uses_fast_path):
    session = Session(PEER, view_of(), uses_fast_path=uses_fast_path)
    session.client_bytes(unfolding(1), NOW_MS)
    one = unfolding(budget.MAX_BYTES // 8, noise=30_000)
    effects = session.client_bytes(one * 12, NOW_MS)

    assert kinds(effects) == [SendToBroker, Judge, PauseClient]
    assert len(effects[0].data) < 9 * len(one)


@pytest.mark.parametrize(
    "topics",
    [{"t": dict.fromkeys(range(MAX_PARTITIONS + 1))}, {f"t{n}": {} for n in range(MAX_PARTITIONS + 1)}],
    ids=["partitions", "topics"],
)
def test_more_partitions_or_topics_than_a_broker_can_lead_are_rejected(topics):
    """Six bytes a partition: a frame of 100 MiB of them would take 30 GB. It is read beside the loop."""
    session = Conversation().session
    (judge, _) = session.client_bytes(asked(topics), NOW_MS)
    *_, close = session.judged(judge.job(), NOW_MS)

    assert isinstance(close, CloseSession)
    assert close.reason is CloseReason.BAD_FRAME
    assert f"more than {MAX_PARTITIONS} partitions" in close.text


@pytest.mark.parametrize(("count", "passes"), [(MAX_PARTITIONS, True), (MAX_PARTITIONS + 1, False)])
def test_the_fast_path_forwards_as_many_partitions_as_the_session(count, passes):
    table = fastpath.Table(replace(PEER, client_id="app"), None, 1000)
    table.add("t", LIMITS, LIMITS.before_max_ms, LIMITS.after_max_ms)
    requests = fastpath.RequestFilter(
        fastpath.InFlight(id), RELAYED, 1 << 27, 1 << 20, budget.DecompressionBudget
    )
    requests.table = table
    frame = asked({"t": dict.fromkeys(range(count), batch([NOW_MS]))})

    assert requests.forward_buffered(frame, 0, 1, NOW_MS, budget.DecompressionBudget()) == (
        len(frame) if passes else 0
    )


def test_what_was_judged_in_an_earlier_go_makes_no_request_dear():
    session = Conversation().session
    for _ in range(10):
        effects = session.client_bytes(asked({"t": {0: culprits(OFFLOAD_RECORDS // 4)}}), NOW_MS)

        assert SendToClient in kinds(effects)


def test_no_request_is_taken_while_many_bytes_of_our_own_answers_wait_for_the_brokers():
    """A thousand small requests behind one that the broker holds have a gigabyte of answers."""
    slow = request(HEARTBEAT, 4)
    large = asked({"t": {0: culprits(OFFLOAD_RECORDS // 2)}}, version=9)
    conversation = Conversation(view_of(culprits_listed=10_000))
    assert conversation >> client(slow) << to_broker(slow)
    session = conversation.session
    taken = 0
    while PauseClient not in kinds(session.client_bytes(large, NOW_MS)):
        taken += 1
        assert taken < 10

    assert kinds(session.broker_bytes(answer(HEARTBEAT, 4), NOW_MS))[0] is SendToClient


@pytest.fixture
async def proxy_and_topic(kafka_440, topic):
    await kafka_440.create_topic(topic)
    async with proxy_that_knows(kafka_440, topic) as proxy:
        yield proxy, topic.encode()


async def test_a_client_that_never_reads_its_large_answers_costs_little_memory_and_nobody_else_waits(
    proxy_and_topic,
):
    """200 KB of requests once cost 2.5 GB of answers, and held up everybody for two minutes."""
    proxy, topic = proxy_and_topic
    storm = produce(topic, culprits(10_000, Clock().now_ms() * 1000), version=8) * 1_500
    before_mib = resident_mib(proxy)
    with socket.create_connection((HOST, port_of(proxy))) as attacker:
        attacker.setblocking(False)
        sending = asyncio.create_task(asyncio.get_running_loop().sock_sendall(attacker, storm))
        for _ in range(20):
            async with asyncio.timeout(PATIENCE_S):
                assert await answer_to(port_of(proxy), produce(topic, batch([Clock().now_ms()]), version=8))
        assert resident_mib(proxy) - before_mib < 64
        sending.cancel()
