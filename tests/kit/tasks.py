"""Work that goes on beside a test."""

import asyncio
from contextlib import asynccontextmanager


@asynccontextmanager
async def beside(*coroutines):
    """Runs these until the block ends, and yields their tasks. An error of theirs is raised then."""
    tasks = [asyncio.create_task(one) for one in coroutines]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended
