"""Chooses the connections that time their next request: all in turn, at most so many per second.

So the cost does not grow with the number of connections or requests.
"""

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, Protocol

from tsproxy.proxy.metrics.loop_lag import EVERY_S as LOOP_LAG_EVERY_S

EVERY_S: Final = LOOP_LAG_EVERY_S
"""The same as another timer's: both run in one turn of the loop, and wake an idle process once."""
AT_ONCE: Final = 80


class Timed(Protocol):
    """A connection, as far as the sampler needs it."""

    def time_next(self) -> None: ...


class Sampler:
    def __init__(self, connections: Callable[[], Iterable[Timed]]) -> None:
        self._connections = connections
        self._turn: list[Timed] = []

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            self.arm()

    def arm(self) -> None:
        """Let the next connections time a request."""
        if not self._turn:
            self._turn = list(self._connections())
        for each in islice(self._turn, AT_ONCE):
            each.time_next()
        del self._turn[:AT_ONCE]
