"""Findings about this machine: open files, memory, and the folder of the decision log. Nothing is written."""

import os
import pwd
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tsproxy.config.settings import Config
from tsproxy.config.values import size_text
from tsproxy.decision_folder import closed_files
from tsproxy.doctor.findings import Check, Finding
from tsproxy.model.words import many
from tsproxy.proxy.limits import descriptors

DESCRIPTORS: Final = Check("open files")
MEMORY: Final = Check("memory")
DECISIONS: Final = Check("decisions")

BASE_BYTES: Final = 60 << 20
"""Memory of one process without clients (docs/guide/operations.md)."""
WHOLE_BATCHES: Final = 2
"""The number of decompressed batches that may be in memory as a whole at a time; dead letters add one."""
LEAST_FREE_BYTES: Final = 256 << 20
CGROUP: Final = Path("/sys/fs/cgroup")


def examine(config: Config) -> Iterator[Finding]:
    yield open_files(config, descriptors.grantable())
    yield memory(config, available_bytes())
    yield from decisions(config)


def open_files(config: Config, granted: int | None) -> Finding:
    """`granted`: how many files one process may open, None if that is unknown."""
    needed = descriptors.needed(config)
    limits = config.connection_limits
    if granted is None:
        return DESCRIPTORS.skipped("this system does not say how many files a process may open")
    if granted >= needed:
        return DESCRIPTORS.ok(
            f"{granted:,} allowed, {needed:,} needed for {many(limits.connections, 'connection')}"
        )
    fitting = descriptors.fitting(config, granted) * config.workers
    advice = "raise LimitNOFILE (systemd), nofile (containers) or ulimit -n, or lower limits.connections"
    text = (
        f"{granted:,} allowed here (another limit may hold under a service manager), {needed:,} needed for "
        f"{many(limits.connections, 'connection')}"
    )
    if fitting <= 0:
        return DESCRIPTORS.problem(f"{text}: too few for any", advice)
    if limits.follows_system:
        return DESCRIPTORS.warning(f"{text}; the proxy will accept {fitting:,}", advice)
    return DESCRIPTORS.warning(f"{text}; about {fitting:,} fit", advice)


def available_bytes(cgroup: Path = CGROUP) -> int | None:
    """The memory that this process may use: the smaller of its container's limit and the machine's memory;
    None if both are unknown."""
    found = []
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            found.append(int((cgroup / name).read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    with suppress(OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(found, default=None)


def most_bytes(config: Config) -> int:
    """The most memory that all processes of this configuration may take (operations.md, Capacity)."""
    copies = config.dead_letters
    whole = WHOLE_BATCHES + (copies is not None)
    batches = config.workers * whole * config.session_limits.decompressed_batch
    processes = config.workers + (config.workers > 1)
    waiting = copies.max_in_flight_bytes if copies is not None else 0
    return processes * BASE_BYTES + config.connection_limits.buffered + batches + waiting


def memory(config: Config, available: int | None) -> Finding:
    most = most_bytes(config)
    if available is None:
        return MEMORY.skipped("this system does not say how much memory there is")
    text = f"{_size(available)} for this process, {_size(most)} needed at most by the configured limits"
    if available >= most:
        return MEMORY.ok(text)
    return MEMORY.warning(
        text, "give it more, or lower limits.buffered and limits.decompressed_batch, or workers"
    )


def decisions(config: Config) -> Iterator[Finding]:
    folder = config.decisions.directory
    where = _existing(folder)
    is_there = where == folder.absolute()
    if not os.path.isdir(where):
        yield DECISIONS.problem(
            f"{where} is not a folder", "name a folder in decisions.directory (--decisions)"
        )
        return
    user = _name(os.geteuid())
    if not os.access(where, os.W_OK | os.X_OK):
        yield DECISIONS.problem(
            f"{where} belongs to {_owner(where)}, and {user} may not write there",
            "give it to the user of the proxy, or name another folder in decisions.directory (--decisions)",
            f"chown {user} {shlex.quote(str(where))}" if is_there else None,
        )
        return
    if not is_there:
        yield DECISIONS.ok(f"{folder} does not exist; {user} may make it at the start")
    elif (owner := _owner(folder)) != user:
        yield DECISIONS.warning(
            f"{folder} belongs to {owner}, and this command runs as {user}",
            "call this command as the user of the proxy (sudo -u), who must be able to write there",
        )
    else:
        yield DECISIONS.ok(f"{folder} belongs to {user}, and can be written")
    yield _space(config, where)


def _space(config: Config, where: Path) -> Finding:
    status = os.statvfs(where)
    free, most = status.f_bavail * status.f_frsize, config.decisions.retention.size_bytes
    if free < LEAST_FREE_BYTES:
        return DECISIONS.problem(
            f"{_size(free)} free on the disk of {where}", "make room: without it the log has gaps"
        )
    kept = sum(each.size_bytes for each in closed_files(config.decisions.directory))
    if most is None:
        text = f"{_size(free)} free; decisions.retention.size is unlimited"
        return DECISIONS.warning(text, "set decisions.retention.size to less than the disk has")
    if free + kept < most:
        return DECISIONS.warning(
            f"{_size(free)} free beside {_size(kept)} of files, and decisions.retention.size allows "
            f"{_size(most)}: the disk may fill up before old files are deleted",
            f"set decisions.retention.size to less than {_size(free + kept)}",
        )
    return DECISIONS.ok(f"{_size(free)} free; files may take {_size(most)} (decisions.retention.size)")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    # Unlike Path.exists, os.path.exists is false where this user may not look.
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if os.path.exists(each))


def _owner(path: Path) -> str:
    return _name(path.stat().st_uid)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _size(count: int) -> str:
    """`1.5 GiB`; exact sizes do not matter here."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return size_text(count)
