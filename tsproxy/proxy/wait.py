"""Waits for an event, but not for ever."""

import asyncio


async def wait_at_most(seconds: float | None, event: asyncio.Event) -> bool:
    """True when the event is set, False after so many seconds. None stands for no time limit."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
