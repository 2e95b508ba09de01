"""Retries every second to serve brokers that a listener cannot serve, mostly because a port is busy.

Answers leave an unserved broker out, so clients cannot reach the partitions that it leads. The proxy must get
the port as soon as it is free, and must notice soon that the broker has left the cluster. The log names the
unserved brokers each minute for as long as that lasts.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from tsproxy.clock import Clock
from tsproxy.log_events.catalogue import BROKERS_NOT_SERVED, SERVING_CRASHED
from tsproxy.proxy.connections.listener import ProxyListener
from tsproxy.proxy.notes import frames_of

RETRY_DELAY_S: Final = 1.0
LOG_EVERY_MS: Final = 60_000


class UnservedEndpoints:
    """Retries unserved brokers. `changed` is called when more brokers are served than before, and
    `read_brokers` to find out whether the unserved brokers are still there."""

    def __init__(
        self,
        proxy_listeners: Sequence[ProxyListener],
        changed: Callable[[], None],
        read_brokers: Callable[[], None],
    ) -> None:
        self._changed = changed
        self._read_brokers = read_brokers
        self._proxy_listeners = proxy_listeners
        self._since_ms: dict[str, int] = {}
        """By listener: the time when unserved brokers were first found, or last logged."""

    def not_ready(self) -> list[str]:
        """A sentence for each listener that serves no broker at all."""
        return [
            f"listener {listener.name} serves no broker"
            for listener in self._proxy_listeners
            if listener.unserved and not listener.served_count
        ]

    def warnings(self) -> list[str]:
        """A sentence for each broker that a listener does not serve."""
        return [
            f"listener {listener.name} does not serve node {node_id}, so clients cannot reach the partitions "
            f"that it leads: {text}"
            for listener in self._proxy_listeners
            for node_id, text in listener.unserved.items()
        ]

    async def run(self, clock: Clock) -> None:
        """Retry every second, for ever."""
        while True:
            await asyncio.sleep(RETRY_DELAY_S)
            try:
                self.retry(clock.monotonic_ms())
            except Exception as error:
                # An error in our code must stop neither the data path nor the retries.
                SERVING_CRASHED(error=type(error).__name__, frames=frames_of(error))

    def retry(self, now_ms: int) -> None:
        """Retry once, and log unserved brokers if it is time."""
        has_more = [proxy_listener.serve_missing() for proxy_listener in self._proxy_listeners]
        if any(has_more):
            self._changed()
        if any(proxy_listener.unserved for proxy_listener in self._proxy_listeners):
            self._read_brokers()
        for proxy_listener in self._proxy_listeners:
            self._log_unserved(proxy_listener, now_ms)

    def _log_unserved(self, proxy_listener: ProxyListener, now_ms: int) -> None:
        unserved = proxy_listener.unserved
        if not unserved:
            self._since_ms.pop(proxy_listener.name, None)
        elif now_ms - self._since_ms.setdefault(proxy_listener.name, now_ms) >= LOG_EVERY_MS:
            self._since_ms[proxy_listener.name] = now_ms
            BROKERS_NOT_SERVED(
                listener=proxy_listener.name,
                node_ids=list(unserved),
                errors=list(dict.fromkeys(unserved.values())),
                advice="answers leave them out: clients here cannot reach the partitions that they lead",
            )
