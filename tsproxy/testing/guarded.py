"""A folder and a process group that end with a block of this program, or with this program."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tsproxy.testing.guard import start_guard


@asynccontextmanager
async def guarded_folder(prefix: str) -> AsyncIterator[tuple[Path, int]]:
    """A new temporary folder whose name begins with `prefix`, and a process group for what uses it.

    When the block ends, or the process that entered it dies, the group is killed and the folder removed;
    see `guard.py`.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    guard = start_guard(folder)
    try:
        yield folder, guard.pid
    finally:
        # Begun at once, so that not even a second cancellation can prevent the end.
        ending = asyncio.get_running_loop().run_in_executor(None, guard.communicate)
        await asyncio.shield(ending)
