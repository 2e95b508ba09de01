"""`keep_conversing`: the loop of each connection of the proxy's own."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pause:
    """The wait after an error. Nothing ends `certain_ms` early: clients can cause errors very often, and
    brokers count failed logins. An event may end the `more_ms` that follow."""

    certain_ms: int
    more_ms: int = 0


async def keep_conversing(
    converse: Callable[[], Awaitable[None]],
    after: Callable[[Exception], Pause | None],
    wake: asyncio.Event | None = None,
) -> None:
    """Call `converse` until it returns. `after` gets each of its errors, and returns the pause before the
    next call, or None to give up. Raises the errors of `after`."""
    while True:
        try:
            return await converse()
        except Exception as error:
            pause = after(error)
        if pause is None:
            return None
        await asyncio.sleep(pause.certain_ms / 1000)
        if wake is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause.more_ms / 1000):
                    await wake.wait()
