"""SIGKILL for a worker, for all processes of the proxy, for its supervisor alone, and for a broker."""

import os
import signal
from collections import Counter

from rigs.truth.books import lines_of
from tests.attacks.attacker import until as until_told
from tests.processes import is_alive
from tests.proxy.running import pids
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.decisions.text import instant
from tsproxy.testing.proxy import RunningProxy

WORKERS = 2
VICTIMS = ("worker", "proxy", "supervisor")


class Proxies:
    """One proxy after the other, with one configuration, one address and one folder of the decision log."""

    def __init__(self, config, log, kafka, stack):
        self._config = config
        self._log = log
        self._kafka = kafka
        self._stack = stack
        self._proxy = None
        self.killed_ms = []
        """When somebody was killed."""
        self.processes_killed = 0
        """How many processes that count batches were killed: the supervisor counts none."""

    async def start(self):
        proxy = RunningProxy(config=self._config, decisions=self._log, arguments=["--workers", str(WORKERS)])
        await proxy.__aenter__()
        self._stack.push_async_callback(proxy.kill)
        self._proxy = proxy
        return proxy

    async def stop(self):
        """In order, so that nothing of the last processes is lost."""
        assert await self._proxy.stop() == 0

    async def kill(self, victim, random):
        """Kills, and returns when all runs again and has written a heartbeat."""
        await getattr(self, f"_kill_{victim}")(random)
        await until_told(self._is_heard, f"the workers after the {victim} was killed")

    async def _is_heard(self):
        """Whether as many processes as there are workers wrote two heartbeats since the last kill."""
        since = instant(max(self.killed_ms, default=0))
        beats = lines_of(self._log, "heartbeat")
        heard = Counter(each["boot"] for each in beats if each["interval_start"] > since)
        return sum(count > 1 for count in heard.values()) >= WORKERS

    async def _kill_worker(self, random):
        number = random.randint(1, WORKERS)
        pid = pids(self._proxy)[number]
        self._kill_process(pid)
        await until(lambda: pids(self._proxy)[number] != pid, "the worker is replaced")

    async def _kill_proxy(self, _):
        """The workers first: without a supervisor they would end in order. The supervisor is stopped before.
        Otherwise it may start another worker, which would keep the port."""
        os.kill(self._proxy.pid, signal.SIGSTOP)
        workers = pids(self._proxy).values()
        for pid in workers:
            self._kill_process(pid)
        await self._proxy.kill()
        await until(lambda: not any(map(is_alive, workers)), "the killed workers end")
        await self.start()

    async def _kill_supervisor(self, _):
        workers = pids(self._proxy).values()
        await self._proxy.kill()
        self.killed_ms.append(Clock().now_ms())
        await until(lambda: not any(map(is_alive, workers)), "the workers end without a supervisor")
        await self.start()

    async def _kill_broker(self, _):
        await self._kafka.kill_node(1)
        self.killed_ms.append(Clock().now_ms())
        await self._kafka.start_node(1)

    def _kill_process(self, pid):
        os.kill(pid, signal.SIGKILL)
        self.processes_killed += 1
        self.killed_ms.append(Clock().now_ms())
