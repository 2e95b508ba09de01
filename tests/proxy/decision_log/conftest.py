"""A disk that is soon full."""

import os
import subprocess
from contextlib import contextmanager, suppress

import pytest

ROOM_BYTES = 64 * 1024


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    with disk(tmp_path / "small", ROOM_BYTES) as folder:
        yield folder


@contextmanager
def disk(folder, room_bytes):
    """A file system of this size."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={room_bytes}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs to be root, and allowed to mount a small tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(path):
    """Makes a file that takes all the room there is."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
