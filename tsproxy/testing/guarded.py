"""A folder and a process group that end with a block, or with this process."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tsproxy.testing.guard import start_guard


@asynccontextmanager
async def guarded_folder(prefix: str) -> AsyncIterator[tuple[Path, int]]:
    """A new temporary folder whose name begins with `prefix`, and a process group for its users.

    When the block ends, or this process dies, `guard.py` kills the group and removes the folder.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    guard = start_guard(folder)
    try:
        yield folder, guard.pid
    finally:
        # Started at once, so that not even a second cancellation can prevent the end.
        ending = asyncio.get_running_loop().run_in_executor(None, guard.communicate)
        await asyncio.shield(ending)
