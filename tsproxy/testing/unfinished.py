"""The place of a file or folder that is not whole yet: `unfinished`."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

LASTS_S: Final = 3_600
"""Nothing takes so long to make: it is of a process that was killed."""


@contextmanager
def unfinished(place: Path) -> Iterator[Path]:
    """A path beside `place` for something that is not whole yet. The caller makes it, and renames it to
    `place`. At the end it is removed, unless it was renamed, and so are the old ones of killed processes."""
    draft = place.with_name(f".{place.name}.{os.getpid()}.draft")
    try:
        yield draft
    finally:
        _remove(draft)
        for old in place.parent.glob(".*.draft"):
            with suppress(FileNotFoundError):
                if time.time() - old.lstat().st_mtime > LASTS_S:
                    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
