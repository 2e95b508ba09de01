"""`limits.memory` alone holds the process within its limit: nothing that connections hold is counted."""

import asyncio
import contextlib
import socket
import time
from pathlib import Path

import pytest

from tests.attacks.attacker import HOST, PATIENCE_S, metric, port_of
from tests.attacks.hostile_broker import OWN, HostileBroker
from tests.kit.client import connect
from tests.proxy.frames import request
from tests.proxy.running import events, series
from tests.proxy.world import until
from tests.session.messages import accepted, produce, produced
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.testing.proxy import RunningProxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells resident memory"),
]
UNCOUNTED = """
from tsproxy.proxy.connections.relay import Relay
Relay.held_bytes = property(lambda self: 0)
"""
LIMIT_MIB = 140
ATTACKERS = 240
IDLE = 170
CONNECTIONS = "tsproxy_connections{"
GOOD = 2
"""The correlation id of a good client."""
STALLED = request(7, 100, 1, 4) * 3 + request(7, 3 << 20, 0, 8)[: 700 << 10]
"""Three requests that nobody answers, and 700 KiB of another one, whose end does not come."""


class AnswersGoodClients(HostileBroker):
    """It answers the proxy itself and a good client, and nobody else."""

    def _any_answer(self, question):
        if question.client_id == OWN:
            return self.honest_answer(question)
        return (
            produced({"t": {0: accepted()}}, correlation_id=GOOD) if question.correlation_id == GOOD else b""
        )


async def attack(end, after_s):
    await asyncio.sleep(after_s)
    with contextlib.suppress(ConnectionError):
        await asyncio.get_running_loop().sock_sendall(end, STALLED)


async def test_the_process_stays_below_its_limit_and_a_good_client_goes_on(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(UNCOUNTED)
    environment = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"}
    settings = {"limits.memory": f"{LIMIT_MIB}MiB", "limits.drain_timeout": "1s"}
    used_mib, waits_s = [], []
    async with (
        AnswersGoodClients(1) as broker,
        RunningProxy(broker.bootstrap_servers, settings=settings, environment=environment) as proxy,
    ):
        good = await connect(proxy.bootstrap_servers)
        ends = [socket.create_connection((HOST, port_of(proxy))) for _ in range(IDLE + ATTACKERS)]
        for end in ends:
            end.setblocking(False)

        async def are_all_in():
            states = [value for name, value in (await series(proxy)).items() if name.startswith(CONNECTIONS)]
            return sum(states) == 1 + len(ends)

        await until(are_all_in)  # whoever comes while memory is nearly full is turned away, and counted too
        attacks = [asyncio.create_task(attack(end, n / 40)) for n, end in enumerate(ends[:ATTACKERS])]
        ends_s = time.monotonic() + 8
        while (began_s := time.monotonic()) < ends_s:
            async with asyncio.timeout(PATIENCE_S):
                await good.frame(produce({"t": {0: batch([Clock().now_ms()])}}, correlation_id=GOOD))
            waits_s.append(time.monotonic() - began_s)
            used_mib.append(own_mib(proxy))
            await asyncio.sleep(0.02)
        assert 0 < await metric(proxy, 'tsproxy_limits_total{limit="memory"}') < ATTACKERS
        for task in attacks:
            task.cancel()
        for end in (*ends, good):
            end.close()
    # Memory is read eight times a second, so it may be over for a moment. Without a limit it exceeds 300 MiB.
    assert LIMIT_MIB * 0.8 < max(used_mib) < LIMIT_MIB * 1.05
    assert max(waits_s) < 30
    assert "memory_nearly_full" in events(proxy)


def own_mib(proxy):
    _, resident, shared, *_ = Path(f"/proc/{proxy.pid}/statm").read_text().split()
    return (int(resident) - int(shared)) * 4096 / 2**20
