"""Ends all relays in order: what brokers still owe is passed on, then everybody says goodbye."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from tsproxy.proxy.connections.listener import Front

POLL_S: Final = 0.02
GOODBYE_S: Final = 1.0
"""How long clients that are owed nothing may take to close their end."""


async def drain(fronts: Sequence[Front], timeout_s: float, hurry: asyncio.Event) -> int:
    """Stop accepting, let answers that are owed arrive, part, and cut what is left.

    Waits `timeout_s` at most, and no longer once `hurry` is set. Returns how many clients were cut
    off while they were still owed something.
    """
    for front in fronts:
        front.stop_accepting()
        await front.stop_connecting()
        for relay in list(front.relays):
            relay.drain()
    await _wait(lambda: _unsettled(fronts) > 0, timeout_s, hurry)
    cut = _unsettled(fronts)
    if not cut:
        await _wait(lambda: any(front.relays for front in fronts), GOODBYE_S, hurry)
    for front in fronts:
        for relay in list(front.relays):
            relay.cut()
    return cut


async def _wait(lasts: Callable[[], bool], timeout_s: float, hurry: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    # ASYNC110 wants an event here, but none tells when a transport has sent all.
    while lasts() and loop.time() < deadline and not hurry.is_set():  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)


def _unsettled(fronts: Sequence[Front]) -> int:
    return sum(not relay.is_settled for front in fronts for relay in front.relays)
