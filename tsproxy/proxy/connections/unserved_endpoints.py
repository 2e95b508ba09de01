"""Brokers that a listener cannot serve, most often because their port is busy: tried again every second.

Every Metadata answer names every broker of the cluster, and none may name one that is not served. So one
broker whose port is busy keeps all clients out, and its port must be had as soon as it is free. The log says
each minute what is not served, as long as that lasts.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from tsproxy.clock import Clock
from tsproxy.proxy.connections.listener import Front
from tsproxy.proxy.notes import frames_of

log = structlog.get_logger()

TRY_EVERY_S: Final = 1.0
TELL_EVERY_MS: Final = 60_000


class Unserved:
    """`changed` is called when more is served than before."""

    def __init__(self, fronts: Sequence[Front], changed: Callable[[], None]) -> None:
        self._changed = changed
        self._fronts = fronts
        self._since_ms: dict[str, int] = {}
        """By listener: when it was first found not to serve all, or last told so."""

    async def run(self, clock: Clock) -> None:
        """Look every second, for ever."""
        while True:
            await asyncio.sleep(TRY_EVERY_S)
            try:
                self.look(clock.monotonic_ms())
            except Exception as error:
                # A mistake of ours must not take the data path down, nor end the tries.
                log.error("serving_crashed", error=type(error).__name__, frames=frames_of(error))

    def look(self, now_ms: int) -> None:
        """Try all that is not served once more, and tell it when it is time."""
        has_more = [front.serve_missing() for front in self._fronts]
        if any(has_more):
            self._changed()
        for front in self._fronts:
            self._tell(front, now_ms)

    def _tell(self, front: Front, now_ms: int) -> None:
        unserved = front.unserved
        if not unserved:
            self._since_ms.pop(front.name, None)
        elif now_ms - self._since_ms.setdefault(front.name, now_ms) >= TELL_EVERY_MS:
            self._since_ms[front.name] = now_ms
            log.error(
                "brokers_not_served",
                listener=front.name,
                node_ids=list(unserved),
                errors=list(dict.fromkeys(unserved.values())),
                advice="answers that name them are held back and then end the connection: no client gets in",
            )
