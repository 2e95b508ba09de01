"""The time from the command to the first client that is served, and where it goes."""

import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench
from benchmarks.frames import opening_of
from benchmarks.processes import Command, Program, ProgramError
from benchmarks.proxies import BROKERS, TSPROXY, Place
from benchmarks.rounds import Spread, in_rounds, spread
from benchmarks.sections import Section
from tsproxy.testing.ports import free_ports

_AGAIN: Final = "the first client is served"
_IMPORTED: Final = (
    "import tsproxy.cli, tsproxy.proxy.summary, tsproxy.proxy.process, tsproxy.proxy.workers.supervisor, "
    "tsproxy.proxy.workers.worker, uvloop, os"
)
_FILES: Final = (
    f"{_IMPORTED}, sys\n"
    "for module in list(sys.modules.values()):\n"
    "    for path in (getattr(module, '__file__', None), getattr(module, '__cached__', None)):\n"
    "        print(path)"
)
_POLL_S: Final = 0.001
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Took:
    """One start: seconds by the clock, and seconds of CPU."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class _Starts:
    """Starts of one installation, whose bytecode is in `bytecode`, before one sink."""

    bench: Bench
    sink_port: int
    bytecode: Path

    def python(self, code: str) -> Command:
        return self._with_bytecode((sys.executable, "-c", code))

    def ended(self, code: str) -> _Took:
        """A Python program from its start to its end."""
        begun_s = time.monotonic()
        program = self.bench.workshop.start("python", self.python(code), cpu=None)
        _, status, usage = os.wait4(program.pid, 0)
        wall_s = time.monotonic() - begun_s
        program.process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            program.raise_if_ended()
        return _Took(wall_s, usage.ru_utime + usage.ru_stime)

    def served(self) -> _Took:
        """The proxy from its start to the first answer that a client gets."""
        folder = self.bench.workshop.new_folder("start")
        place = Place(free_ports(1 + BROKERS)[0], self.sink_port, folder)
        command = self._with_bytecode(TSPROXY.command(place))
        begun_s = time.monotonic()
        with self.bench.workshop.start("tsproxy, start", command, cpu=None) as program:
            _ask_until_answered(program, place.port)
            return _Took(time.monotonic() - begun_s, program.cpu_s())

    def without_files(self) -> _Took:
        """The same when no file that Python loads is in memory, as far as other programs do not use it."""
        for name in set(self.bench.workshop.output("python", self.python(_FILES)).splitlines()):
            if os.path.isfile(name):
                with open(name, "rb") as file:
                    os.fsync(file.fileno())  # a page that was not written yet stays
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return self.served()

    def without_bytecode(self) -> _Took:
        """The same for an installation that was never started."""
        fresh = _Starts(self.bench, self.sink_port, self.bench.workshop.new_folder("bytecode"))
        return fresh.served()

    def _with_bytecode(self, command: Command) -> Command:
        return ("env", "-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPYCACHEPREFIX={self.bytecode}", *command)


def start(bench: Bench) -> Section:
    """Starts of the proxy in several states of the machine, and of Python with its modules alone."""
    with bench.sink() as sink:
        starts = _Starts(bench, sink, bench.workshop.new_folder("bytecode"))
        starts.served()
        contenders: dict[str, Callable[[], _Took]] = {
            "Python alone": partial(starts.ended, "pass"),
            "all modules are imported": partial(starts.ended, f"{_IMPORTED}; os._exit(0)"),
            _AGAIN: starts.served,
            f"{_AGAIN}, no file is in memory": starts.without_files,
            f"{_AGAIN}, and Python has no bytecode yet": starts.without_bytecode,
        }
        took = in_rounds(bench.effort.rounds, contenders)
    return Section(
        text="The time from the command on, and the CPU until then. The proxy has a cluster of one broker "
        "that answers at once; the client asks every millisecond, and is served when it has an answer to "
        "ApiVersions. Files that are not in memory are read from this machine's disk. Without bytecode "
        "Python compiles each module, once for an installation; an image or a package should have it.",
        head=("until", "ms", "CPU, ms"),
        rows=[
            (name, str(_ms([each.wall_s for each in runs])), str(_ms([each.cpu_s for each in runs])))
            for name, runs in took.items()
        ],
    )


def _ms(seconds: list[float]) -> Spread:
    return spread([1_000 * each for each in seconds])


def _ask_until_answered(program: Program, port: int) -> None:
    """A client that tries again until it is answered. Raises ProgramError."""
    api_versions, _ = opening_of(())
    deadline_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline_s:
        program.raise_if_ended()
        with socket.socket() as client:
            client.settimeout(_PATIENCE_S)
            if client.connect_ex(("127.0.0.1", port)) == 0:
                client.sendall(api_versions)
                if client.recv(1):
                    return
        time.sleep(_POLL_S)
    raise ProgramError(f"{program.name} serves nobody after {_PATIENCE_S:g} s: {program.last_words()}")
