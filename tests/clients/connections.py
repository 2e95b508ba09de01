"""Who is connected to whom, by the kernel's own table: does a client ever go to a broker directly?

Looked at over and over, in a thread of its own. A client that finds a broker keeps the connection for
minutes, so none that matters comes and goes between two looks.
"""

import contextlib
import os
import threading
from pathlib import Path

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_BETWEEN_LOOKS_S = 0.1


class Watch:
    """While it is entered, collects (name, port) of each watched process that has a socket towards a port."""

    def __init__(self, ports):
        self._ports = frozenset(ports)
        self._pids = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self.seen = set()
        self.seen_one = threading.Event()
        self.looks = 0

    def follow(self, name, pid):
        self._pids[name] = pid

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _look_on(self):
        while not self._is_over.wait(_BETWEEN_LOOKS_S):
            self._look()

    def _look(self):
        towards = dict(_sockets_towards(self._ports))
        for name, pid in tuple(self._pids.items()) if towards else ():
            self.seen |= {(name, towards[inode]) for inode in _sockets_of(pid) & towards.keys()}
        if self.seen:
            self.seen_one.set()
        self.looks += 1


def _sockets_towards(ports):
    """(inode, port) of every socket whose other end is one of the ports."""
    for table in _TABLES:
        with contextlib.suppress(FileNotFoundError):  # a machine without IPv6
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                port = int(fields[2].rpartition(":")[2], 16)
                if port in ports and fields[9] != "0":
                    yield fields[9], port


def _sockets_of(pid):
    """The inodes of a process's sockets."""
    found = set()
    with contextlib.suppress(FileNotFoundError):  # it has ended
        for fd in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                target = os.readlink(fd.path)
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found
