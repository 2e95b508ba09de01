"""Both directions of a relayed connection."""

import asyncio


async def until_either_ends(*directions, ended_by=(OSError,)):
    """Run these coroutines until one of them returns or fails; then cancel the other.

    `ended_by` has the errors of a connection that ends. Any other error is raised.
    """
    tasks = [asyncio.ensure_future(each) for each in directions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, ended_by):
            raise error
