"""A terminal of the page: a shell, or one command, on a pseudo terminal."""

import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from fcntl import ioctl
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.documents.seen import lines_of

_ROWS, _COLUMNS = 50, 120
_DONE = re.compile(r"\x1e(\d+)\x1e")
_END_S = 60


class Terminal:
    """A process with everything that it prints. It ends with the block, by Ctrl-C or else by SIGKILL."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._printed = bytearray()
        self._news = threading.Condition()
        self._is_open = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.interrupt()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._reader.join()
        os.close(self._master)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def interrupt(self) -> None:
        """Ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)

    def wait(self, timeout_s: float) -> int:
        """The exit status, when the command has ended. Raises subprocess.TimeoutExpired."""
        status = self._process.wait(timeout_s)
        self._reader.join(timeout_s)
        return status

    def mark(self) -> int:
        """The place in the output up to now, for `output`."""
        with self._news:
            return len(self._printed)

    def output(self, since: int = 0) -> str:
        with self._news:
            return self._printed[since:].decode(errors="replace")

    def wait_for_more(self, known: int, timeout_s: float) -> None:
        """Returns when there is more output than `known` bytes, at the end, or after the time."""
        with self._news:
            self._news.wait_for(lambda: len(self._printed) > known or not self._is_open, timeout_s)

    def _read(self) -> None:
        while True:
            try:
                some = os.read(self._master, 65536)
            except OSError:  # Linux: the last process that had the terminal has ended
                some = b""
            with self._news:
                self._printed += some
                self._is_open = bool(some)
                self._news.notify_all()
            if not some:
                return


class Shell(Terminal):
    """A shell that runs one command after the other. It ends at the first one that fails."""

    def __init__(self, folder: Path) -> None:
        super().__init__(["bash", "--noprofile", "--norc", "-e"], folder)
        self._script = folder.parent / "typed.sh"

    def run(self, command: str, timeout_s: float) -> tuple[int | None, list[str]]:
        """The exit status of a command and the lines that it prints. None after `timeout_s`."""
        assert self._process.stdin is not None
        self._script.write_text(command + "\n", encoding="utf-8")
        start = self.mark()
        self._process.stdin.write(f". '{self._script}' </dev/null; printf '\\036%d\\036' $?\n".encode())
        self._process.stdin.flush()
        deadline = time.monotonic() + timeout_s
        while True:
            known = self.mark()
            printed = self.output(start)
            done = _DONE.search(printed)
            if done is not None:
                return int(done[1]), lines_of(printed[: done.start()])
            if not self.is_running:
                return self.wait(timeout_s), lines_of(self.output(start))
            if time.monotonic() > deadline:
                return None, lines_of(printed)
            self.wait_for_more(known, 1)
