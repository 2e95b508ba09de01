"""Starts programs, measures their CPU and memory, and ends them all with the benchmarks.

All processes join the group of a guard (`tsproxy.testing.guard`). The guard kills the group and removes
its folder, however this process ends. CPU is that of a program and all its descendants, from the
kernel's clock of each process: in nanoseconds, user and system, with threads that have ended.
"""

import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

from tsproxy.testing.guard import start_guard

STOP_S: Final = 5.0
_STILL_S: Final = 0.01
_STILL_TRIES: Final = 50
_LOG_TAIL_BYTES: Final = 1000
_CPU_CLOCK: Final = 2  # CPUCLOCK_SCHED of linux/posix-timers.h: the scheduler's own account

Command = Sequence[str | Path]


class ProgramError(Exception):
    """A program ended early or failed; the text ends with its last output."""


@dataclass(slots=True)
class Program:
    """One running program. If it `talks`, `stdin` and `stdout` are open pipes."""

    name: str
    process: "subprocess.Popen[str]"
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def cpu_s(self) -> float:
        """Seconds of CPU that the program and its descendants have used so far."""
        return sum(_cpu_s(pid) for pid in _tree(self.pid))

    def settled_cpu_s(self) -> float:
        """`cpu_s` when it has stopped changing, or else after half a second. The kernel counts the last
        moments of a process late, when the process sleeps already."""
        used_s = self.cpu_s()
        for _ in range(_STILL_TRIES):
            time.sleep(_STILL_S)
            before_s, used_s = used_s, self.cpu_s()
            if used_s == before_s:
                break
        return used_s

    def pids(self) -> Sequence[int]:
        """The program and its descendants."""
        return _tree(self.pid)

    def rss_bytes(self) -> int:
        """Resident memory of the program and its descendants now."""
        return sum(_status_bytes(pid, "VmRSS") for pid in _tree(self.pid))

    def peak_rss_bytes(self) -> int:
        """The highest resident memory: a sum over processes, and so an upper bound if there are several."""
        return sum(_status_bytes(pid, "VmHWM") for pid in _tree(self.pid))

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        """The next line that the program prints. Raises ProgramError if it ends instead."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise ProgramError(f"{self.name} ended with {self.process.returncode}: {self.last_words()}")
        return line.rstrip("\n")

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-_LOG_TAIL_BYTES:].strip()

    def raise_if_ended(self) -> None:
        if self.process.poll() is not None:
            raise ProgramError(f"{self.name} ended with {self.process.returncode}: {self.last_words()}")

    def stop(self) -> None:
        """Sends SIGTERM, and kills the program after STOP_S."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@dataclass(slots=True)
class Workshop:
    """The place where programs run: a folder, and a process group that ends with it."""

    folder: Path
    group: int
    _started: int = 0

    def start(self, name: str, command: Command, *, cpu: int | None, talks: bool = False) -> Program:
        """Starts `command`, on the CPU `cpu` if that is given. Standard error goes to a file."""
        pinned = command if cpu is None else ("taskset", "-c", str(cpu), *command)
        self._started += 1
        log = self.folder / f"{self._started}-{_file_name(name)}.log"
        with log.open("wb") as errors:
            pipe: int | IO[bytes] = subprocess.PIPE if talks else errors
            process = subprocess.Popen(
                [str(word) for word in pinned],
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=pipe,
                stderr=errors,
                cwd=self.folder,
                text=True,
                process_group=self.group,
            )
        return Program(name, process, log)

    def output(self, name: str, command: Command) -> str:
        """Runs `command` and returns its output. Raises ProgramError if it fails."""
        with self.start(name, command, cpu=None, talks=True) as program:
            output, _ = program.process.communicate()
            if program.process.returncode != 0:
                program.raise_if_ended()
        return output

    def new_folder(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(dir=self.folder, prefix=_file_name(name) + "-"))


@contextmanager
def workshop() -> Iterator[Workshop]:
    """A workshop. At its end, all its processes are killed and its folder is removed."""
    folder = Path(tempfile.mkdtemp(prefix="tsproxy-bench-"))
    guard = start_guard(folder)
    try:
        yield Workshop(folder, guard.pid)
    finally:
        guard.communicate()


def open_files() -> int:
    """The files that a process of this machine may open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name)


def _tree(root: int) -> list[int]:
    """The process ids of `root` and of all its running descendants."""
    parents = {int(entry): _parent(entry) for entry in os.listdir("/proc") if entry.isdigit()}
    tree = [root]
    for pid in tree:  # the list grows during the loop
        tree += [child for child, parent in parents.items() if parent == pid]
    return tree


def _parent(pid: str) -> int | None:
    try:
        stat = Path("/proc", pid, "stat").read_text()
    except OSError:  # it has just ended
        return None
    return int(stat.rpartition(")")[2].split()[1])  # the name before it may contain any character


def _cpu_s(pid: int) -> float:
    try:
        return time.clock_gettime(~pid << 3 | _CPU_CLOCK)
    except OSError:  # it has just ended
        return 0.0


def _status_bytes(pid: int, field_name: str) -> int:
    try:
        lines = Path("/proc", str(pid), "status").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(field_name + ":"))
