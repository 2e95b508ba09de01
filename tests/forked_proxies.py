"""Proxies without a start of Python: each is a fork of a process that has imported the program already.

Python takes 0.4 s of CPU to import the program, and `make test` starts hundreds of proxies and workers. A
fork goes on as `python -m tsproxy …` would after its imports: it has arguments, environment, folder,
descriptors and a process id of its own, and it ends as Python ends. A forked proxy gets its workers by forks.
The system counts some 11 MiB less for a fork: pages of libraries that it has not touched.

`make test-full` starts every proxy anew. So does `make test` wherever a test starts `python -m tsproxy` by
itself, or sets a variable that is read before the program's own code runs (`FIXED`).
"""

import asyncio
import importlib
import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.log_events.checked import check_all_lines
from tsproxy.testing import proxy

FIXED = ("PYTHON", "LD_", "MALLOC_", "OPENSSL_", "SSL_")
"""How variables begin that Python or a library reads once, when it starts."""
IMPORTED = (
    "tsproxy.cli",
    "tsproxy.proxy.process",
    "tsproxy.proxy.summary",
    "tsproxy.proxy.workers.supervisor",
    "uvloop",
)
"""The modules that the command `tsproxy run` imports, each with those that it imports."""
_ROOT = Path(__file__).parents[1]
_MODULE = ["-m", "tsproxy"]
_STDERR = 2

started_anew = proxy.start_program


@contextmanager
def instead_of_starts() -> Iterator[None]:
    """Inside, each `RunningProxy` is a fork. The process that they are forks of starts with the first one."""
    with TemporaryDirectory(prefix="tsproxy-forks-") as folder:
        forks, before = _Forks(Path(folder, "socket")), proxy.start_program
        proxy.start_program = forks.start
        try:
            yield
        finally:
            proxy.start_program = before
            forks.close()


class _Forks:
    def __init__(self, address: Path) -> None:
        self._address = str(address)
        self._process: subprocess.Popen[bytes] | None = None
        self._fixed = _fixed_of(os.environ)

    async def start(self, command: Sequence[str], environment: Mapping[str, str]) -> Any:
        if command[1:3] != _MODULE or _fixed_of(environment) != self._fixed:
            return await started_anew(command, environment)
        if self._process is None:
            self._process = self._begin()
        log, their_log = os.pipe()
        try:
            forked = await _fork(self._address, command, environment, {_STDERR: their_log})
        finally:
            os.close(their_log)
        forked.stderr = asyncio.StreamReader(limit=proxy.LINE_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(
            partial(asyncio.StreamReaderProtocol, forked.stderr), os.fdopen(log, "rb", 0)
        )
        return forked

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()  # it ends when its standard input ends

    def _begin(self) -> "subprocess.Popen[bytes]":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self._address)
            listening.listen()
            return subprocess.Popen(
                [sys.executable, "-m", "tests.forked_proxies", str(listening.fileno())],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                pass_fds=[listening.fileno()],
            )


class _Forked:
    """The part of asyncio's `Process` that `RunningProxy` and a supervisor use."""

    stderr: asyncio.StreamReader

    def __init__(self, pid: int, told: asyncio.StreamReader, connection: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = asyncio.create_task(self._hear(told, connection))

    def send_signal(self, number: int) -> None:
        """A process that has just ended gets none, as with asyncio's: `returncode` is set a moment later."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        return await asyncio.shield(self._end)

    async def _hear(self, told: asyncio.StreamReader, connection: asyncio.StreamWriter) -> int:
        self.returncode = os.waitstatus_to_exitcode(int(await told.readline()))
        connection.close()
        return self.returncode


async def _fork(
    address: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    descriptors: Mapping[int, int],
    *,
    in_new_session: bool = False,
) -> _Forked:
    """A fork that runs the command. `descriptors`: its number of an open file -> the number here."""
    asked = {
        "command": list(command),
        "environment": dict(environment),
        "numbers": list(descriptors),
        "folder": os.getcwd(),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "in_new_session": in_new_session,
        "address": address,
    }
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    socket.send_fds(connection, [b"\n"], list(descriptors.values()))
    connection.sendall(json.dumps(asked).encode() + b"\n")
    reader, writer = await asyncio.open_unix_connection(sock=connection)
    return _Forked(int(await reader.readline()), reader, writer)


def _fixed_of(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(FIXED)}


# -- The process that forks -----------------------------------------------------------------------


def serve(listening: socket.socket) -> int:
    """Forks as often as it is asked, and tells the id and the end of each fork, until standard input ends.

    Returns an exit status: its own, and in a fork that of the command.
    """
    for name in IMPORTED:
        importlib.import_module(name)
    check_all_lines()
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends pytest, and that ends this process
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    selector = selectors.DefaultSelector()
    for each in (listening.fileno(), woken, sys.stdin.fileno()):
        selector.register(each, selectors.EVENT_READ)
    askers: dict[int, socket.socket] = {}
    while True:
        for key, _ in selector.select():
            if key.fd == sys.stdin.fileno():
                return 0
            if key.fd == woken:
                os.read(woken, 512)
                _tell_who_ended(askers)
                continue
            asker, _ = listening.accept()
            _, theirs, _, _ = socket.recv_fds(asker, 1, 9)
            with asker.makefile() as lines:
                asked = lines.readline()
            if not asked:  # the asking process was killed meanwhile
                asker.close()
            elif pid := os.fork():
                askers[pid] = asker
                with suppress(ConnectionError):
                    asker.sendall(f"{pid}\n".encode())
            else:
                selector.close()
                for open_socket in (listening, asker, *askers.values()):
                    open_socket.detach()
                return _run(theirs, **json.loads(asked))
            for descriptor in theirs:
                os.close(descriptor)


def _tell_who_ended(askers: dict[int, socket.socket]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with askers.pop(ended[0]) as asker, suppress(ConnectionError):  # nobody may wait for it any more
                asker.sendall(f"{ended[1]}\n".encode())


def _run(
    theirs: list[int],
    *,
    command: list[str],
    environment: dict[str, str],
    numbers: list[int],
    folder: str,
    files: tuple[int, int],
    in_new_session: bool,
    address: str,
) -> int:
    """The fork as the command: as little as possible is left of the process that it was."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if in_new_session:
        os.setsid()
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    _keep_open(dict(zip(numbers, theirs, strict=True)))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    assert command[1:3] == _MODULE, command
    sys.orig_argv[:] = command
    sys.argv[:] = ["tsproxy", *command[3:]]
    sys.path[0] = folder
    from tsproxy.cli import main
    from tsproxy.proxy.workers import member

    assert hasattr(member, "_start"), "a supervisor starts its workers by another function"
    setattr(member, "_start", partial(_start_worker, address))  # noqa: B010 - mypy would ask for its exact type
    return main()


def _keep_open(kept: Mapping[int, int]) -> None:
    """Only the files in `kept` stay open: its new number -> its number. Input and output lead nowhere."""
    above = 1 + max(*kept, *kept.values())
    moved = {number: above + place for place, number in enumerate(kept)}
    for number, high in moved.items():
        os.dup2(kept[number], high)
    os.closerange(3, above)
    for number, high in moved.items():
        os.dup2(high, number)
    os.closerange(above, 1 << 16)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)


async def _start_worker(address: str, channel: int) -> _Forked:
    """As the supervisor's own `_start`, by a fork."""
    from tsproxy.proxy.workers.channel import VARIABLE

    environment = {**os.environ, VARIABLE: str(channel)}
    descriptors = {number: number for number in (_STDERR, channel)}
    return await _fork(address, sys.orig_argv, environment, descriptors, in_new_session=True)


if __name__ == "__main__":
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))
