"""Decides which connections time their next request: all in turn, so many a second at most.

So what it costs does not grow with the number of connections, nor with that of requests.
"""

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, Protocol

EVERY_S: Final = 0.1
AT_ONCE: Final = 32


class Timed(Protocol):
    """A connection, as far as it is timed."""

    def time_next(self) -> None: ...


class Sampler:
    def __init__(self, connections: Callable[[], Iterable[Timed]]) -> None:
        self._connections = connections
        self._turn: list[Timed] = []

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(EVERY_S)
            self.arm()

    def arm(self) -> None:
        """Let the next ones time a request."""
        if not self._turn:
            self._turn = list(self._connections())
        for each in islice(self._turn, AT_ONCE):
            each.time_next()
        del self._turn[:AT_ONCE]
