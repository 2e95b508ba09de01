"""Waits: for an event, but not for ever; for the next tick; for the end of tasks; and before a retry."""

import asyncio
from typing import Any


async def wait_at_most(seconds: float | None, event: asyncio.Event) -> bool:
    """True when the event is set, False after so many seconds. None stands for no time limit."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def next_tick(interval_s: float) -> float:
    """Sleep until the next multiple of the interval, and return it, by the loop's clock. All timers that
    wait so wake together: each time that an idle process wakes costs more than what its timers do.

    The sleep is at least half an interval, since a loop may wake some time too early.
    """
    loop = asyncio.get_running_loop()
    due_s = (loop.time() / interval_s + 1.5) // 1 * interval_s
    await asyncio.sleep(due_s - loop.time())
    return due_s


async def cancelled(*tasks: asyncio.Future[Any]) -> None:
    """Cancel the tasks, and wait until they have ended. Their errors are dropped."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class RetryWait:
    """The waits before retries: each is twice as long as the one before, from `first_ms` on."""

    __slots__ = ("_first_ms", "_next_ms")

    def __init__(self, first_ms: int) -> None:
        self._first_ms = self._next_ms = first_ms

    def start_over(self) -> None:
        self._next_ms = self._first_ms

    def next_ms(self, last_ms: int) -> int:
        """The next wait, `last_ms` at most."""
        wait_ms = min(self._next_ms, last_ms)
        self._next_ms = min(2 * wait_ms, last_ms)
        return wait_ms
