"""The sender of dead letters ends, although no broker is there to take any."""

import asyncio
from dataclasses import replace

import pytest

from tests.config.files import SMALLEST, config_of
from tests.proxy.world import PATIENCE_S
from tsproxy.clock import Clock
from tsproxy.decisions import Privacy
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import Peer, RejectedBatch
from tsproxy.model.verdict import Reason, Reject, Violation
from tsproxy.proxy.dead_letters.drops import DropReason
from tsproxy.proxy.dead_letters.sender import DeadLetters
from tsproxy.testing.ports import free_ports

FOR_EVER_S = 3_600
REJECTION = Reject(
    ErrorCode.INVALID_TIMESTAMP, None, Reason.TOO_OLD, (Violation(0, 1, Reason.TOO_OLD, "too old"),), 1
)
DEAD = RejectedBatch(
    1, Peer("public", "192.0.2.1", 5), "t", 0, "keep", REJECTION, 1, b"not read before it can be sent"
)


@pytest.fixture
def sender():
    config = config_of(SMALLEST + "policy: { defaults: { dead_letters: yes } }\ndead_letters: { topic: d }\n")
    nowhere = replace(config.upstream, bootstrap_servers=(Address("127.0.0.1", free_ports(1)[0]),))
    return DeadLetters(replace(config, upstream=nowhere), None, Privacy(), Clock(), lambda: False)


async def test_where_nothing_waits_the_end_waits_for_no_broker(sender):
    sender.start()
    async with asyncio.timeout(PATIENCE_S):
        await sender.stop(FOR_EVER_S, asyncio.Event())
    assert set(sender.drops.counts.values()) == {0}


@pytest.mark.parametrize(("patience_s", "is_in_a_hurry"), [(FOR_EVER_S, True), (0, False)])
async def test_what_waits_at_the_end_is_lost_and_counted(sender, patience_s, is_in_a_hurry):
    """Who is in a hurry need not wait for it."""
    sender.start()
    sender.enqueue(DEAD)
    stop_now = asyncio.Event()
    if is_in_a_hurry:
        stop_now.set()
    async with asyncio.timeout(PATIENCE_S):
        await sender.stop(patience_s, stop_now)
    assert sender.drops.counts[DropReason.STOPPED] == 1


async def test_after_a_reload_without_the_section_nothing_more_is_taken(sender):
    config = config_of(SMALLEST)
    sender.apply(config)
    sender.enqueue(DEAD)
    assert sender.waiting.first is None
    assert list(sender.collect()) == []
