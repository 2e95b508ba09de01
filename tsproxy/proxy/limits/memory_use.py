"""How much memory this process may use, and uses: `granted_bytes`, `used_bytes`.

Sources: Linux, Documentation/admin-guide/cgroup-v2.rst (`memory.max`), cgroup-v1/memory.rst
(`memory.limit_in_bytes`), filesystems/proc.rst (`statm`, in pages). Other systems have none of these files.
The machine's memory comes from sysconf: a container, or a unit of systemd with ProcSubset=pid, may hide
/proc/meminfo.
"""

import ctypes
import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

_ROOT: Final = Path("/")
_STATM_BYTES: Final = 256
_PAGE_BYTES: Final = resource.getpagesize()


def granted_bytes(root: Path = _ROOT) -> int | None:
    """The limit of the process's cgroup, of a group above it, or the machine's memory: the least of them."""
    return min([*_of_machine(), *_limits(root)], default=None)


def used_bytes() -> int | None:
    """The resident memory that is this process's own: files that it shares with others cost little.

    A busy relay calls this 250 times a second; a file object would cost three times as much.
    """
    try:
        statm = os.open("/proc/self/statm", os.O_RDONLY)
        try:
            _, resident, shared, *_ = os.read(statm, _STATM_BYTES).split()
        finally:
            os.close(statm)
    except (OSError, ValueError):
        return None
    return (int(resident) - int(shared)) * _PAGE_BYTES


def give_back() -> None:
    """Give freed memory back to the system, if the C library has a function for it (glibc's malloc_trim)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _of_machine() -> Iterator[int]:
    with suppress(OSError, ValueError):  # ValueError: a system without this name
        if (pages := os.sysconf("SC_PHYS_PAGES")) > 0:
            yield pages * _PAGE_BYTES


def _limits(root: Path) -> Iterator[int]:
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:  # v2
            yield from _of_group(root / "sys/fs/cgroup", path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _of_group(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes")


def _of_group(mounted: Path, path: str, name: str) -> Iterator[int]:
    """The limits of a group and of those above it. A container may see its own as the highest."""
    group = PurePosixPath(path.lstrip("/"))
    for level in (group, *group.parents):
        for line in _lines(mounted / level / name):
            if line.isdigit():  # `max` is none; v1 says a number beyond any machine's memory
                yield int(line)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
