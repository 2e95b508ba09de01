"""Waits for an event, but not for ever, and for the end of tasks."""

import asyncio
from typing import Any


async def wait_at_most(seconds: float | None, event: asyncio.Event) -> bool:
    """True when the event is set, False after so many seconds. None stands for no time limit."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def cancelled(*tasks: asyncio.Future[Any]) -> None:
    """Cancel the tasks, and wait until they have ended. Their errors are dropped."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
