"""Proxies without a start of Python: each is a fork of a process that has imported the program already.

Python takes 0.4 s of CPU to import the program, and `make test` starts hundreds of proxies. A fork goes on as
`python -m tsproxy …` would after its imports: it has arguments, environment, folder, descriptors and a
process id of its own, and it ends as Python ends. A proxy starts its workers anew.

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
from pathlib import Path
from typing import Any

import pytest

from tsproxy.testing import proxy

FIXED = ("PYTHON", "LD_", "MALLOC_", "OPENSSL_", "SSL_", "TSPROXY_")
"""How variables begin that Python, a library or a module of the program reads once, when it starts."""
IMPORTED = (
    "tsproxy.cli",
    "tsproxy.proxy.process",
    "tsproxy.proxy.summary",
    "tsproxy.proxy.workers.supervisor",
    "uvloop",
)
"""The modules that the command `tsproxy run` imports, each with those that it imports."""
_ROOT = Path(__file__).parents[1]
_MAX_BYTES = 1 << 18
_MODULE = ["-m", "tsproxy"]


started_anew = proxy.start_program


@contextmanager
def instead_of_starts() -> Iterator[None]:
    """Inside, each `RunningProxy` is a fork. The process that they are forks of starts with the first one."""
    starter = _Starter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proxy, "start_program", starter.start)
        try:
            yield
        finally:
            starter.close()


class _Starter:
    def __init__(self) -> None:
        self._ours: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._fixed = _fixed_of(os.environ)

    async def start(self, command: Sequence[str], environment: Mapping[str, str]) -> Any:
        if _fixed_of(environment) != self._fixed:
            return await started_anew(command, environment)
        asked = {
            "command": command,
            "environment": dict(environment),
            "folder": os.getcwd(),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        }
        log, their_log = os.pipe()
        told, their_end = os.pipe()
        try:
            socket.send_fds(self._connected(), [json.dumps(asked).encode()], [their_log, their_end])
        finally:
            os.close(their_log)
            os.close(their_end)
        told_lines = await _reader(told)
        return _Forked(int(await told_lines.readline()), await _reader(log), told_lines)

    def close(self) -> None:
        if self._ours is not None and self._process is not None:
            self._ours.close()
            self._process.wait()

    def _connected(self) -> socket.socket:
        if self._ours is None:
            self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.forked_proxies", str(theirs.fileno())],
                    cwd=_ROOT,
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
        return self._ours


class _Forked:
    """What `RunningProxy` uses of asyncio's `Process`."""

    def __init__(self, pid: int, stderr: asyncio.StreamReader, told: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stderr = stderr
        self.returncode: int | None = None
        self._end = asyncio.create_task(self._hear(told))

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        return await asyncio.shield(self._end)

    async def _hear(self, told: asyncio.StreamReader) -> int:
        self.returncode = os.waitstatus_to_exitcode(int(await told.readline()))
        return self.returncode


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=proxy.LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader


def _fixed_of(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(FIXED)}


# -- The process that forks -----------------------------------------------------------------------


def serve(asks: socket.socket) -> int:
    """Forks as often as it is asked, and tells the id and the end of each fork. Returns an exit status: its
    own, and in a fork that of the command."""
    for name in IMPORTED:
        importlib.import_module(name)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends pytest, and that ends this process
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    selector = selectors.DefaultSelector()
    selector.register(asks, selectors.EVENT_READ)
    selector.register(woken, selectors.EVENT_READ)
    ends: dict[int, int] = {}
    while True:
        for key, _ in selector.select():
            if key.fd == woken:
                os.read(woken, 512)
                _tell_who_ended(ends)
                continue
            asked, descriptors, _, _ = socket.recv_fds(asks, _MAX_BYTES, 2)
            if not asked:
                return 0
            log, end = descriptors
            if not (pid := os.fork()):
                selector.close()
                asks.detach()
                return _run(log, **json.loads(asked))
            os.close(log)
            ends[pid] = end
            os.write(end, f"{pid}\n".encode())


def _tell_who_ended(ends: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            end = ends.pop(ended[0])
            with suppress(BrokenPipeError):  # nobody waits for it any more
                os.write(end, f"{ended[1]}\n".encode())
            os.close(end)


def _run(
    log: int, command: list[str], environment: dict[str, str], folder: str, files: tuple[int, int]
) -> int:
    """The fork as the command: as little as possible is left of the process that it was."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(log, 2)
    os.closerange(3, 1 << 16)
    resource.setrlimit(resource.RLIMIT_NOFILE, files)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    assert command[1:3] == _MODULE, command
    sys.orig_argv[:] = command
    sys.argv[:] = ["tsproxy", *command[3:]]
    sys.path[0] = folder
    from tsproxy.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))
