"""Listening sockets that another process opened for this one, as systemd does (sd_listen_fds(3)).

Such a socket outlives the process. Clients that connect while no process accepts wait in its queue, and two
processes may accept from one queue, the old version and the new one. So no client is refused while one
process takes over from another. Ports that are shared by SO_REUSEPORT would not do: each process has a queue
of its own there, and the system resets what is in it when the process closes it.

    LISTEN_FDS   the number of descriptors, which begin at 3
    LISTEN_PID   the process that they are for

Non-goals: no other kind of socket, and no names (LISTEN_FDNAMES). The address says which port a socket is.
"""

import os
import socket
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import replace
from typing import Final, Self

from tsproxy.config.settings import BrokerPorts, Config, Listener
from tsproxy.model.addresses import Address
from tsproxy.proxy.ports import ListenError, Place, listens

COUNT: Final = "LISTEN_FDS"
PROCESS: Final = "LISTEN_PID"
NAMES: Final = "LISTEN_FDNAMES"
FIRST: Final = 3


class PassedSockets:
    """The sockets, by their descriptors."""

    __slots__ = ("descriptors",)

    def __init__(self, descriptors: Iterable[int] = ()) -> None:
        self.descriptors = tuple(descriptors)

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> Self:
        """The sockets for this process. The variables are removed from `environ`: they are not for child
        processes."""
        count, process = environ.pop(COUNT, ""), environ.pop(PROCESS, "")
        environ.pop(NAMES, None)
        if not count.isdecimal() or process != str(os.getpid()):
            return cls()
        return cls.inherited(range(FIRST, FIRST + int(count)))

    @classmethod
    def inherited(cls, descriptors: Iterable[int]) -> Self:
        """The sockets with these descriptors. No child process inherits one unless it is passed on."""
        passed = cls(descriptors)
        for descriptor in passed.descriptors:
            os.set_inheritable(descriptor, False)
        return passed

    def at(self, address: Address) -> socket.socket | None:
        """The socket that listens there, non-blocking, or None. Closing it leaves the port open. Raises
        ListenError."""
        if not self.descriptors:
            return None
        wanted = Place.of(address)
        for descriptor in self.descriptors:
            passed = socket.socket(fileno=os.dup(descriptor))
            if Place.taken_by(passed) == wanted:
                passed.setblocking(False)
                return passed
            passed.close()
        return None

    def check(self, config: Config) -> None:
        """Raises ListenError if a socket does not listen, or if no listener uses it: clients would wait in
        its queue for ever."""
        wanted = {place for listener in config.listeners for place in _places_of(listener)}
        for descriptor in self.descriptors:
            with socket.socket(fileno=os.dup(descriptor)) as passed:
                if passed.type != socket.SOCK_STREAM or not listens(passed):
                    raise ListenError(
                        f"descriptor {descriptor} ({COUNT}) is no listening TCP socket: a .socket unit needs "
                        "ListenStream with an address and a port, and no Accept"
                    )
                place = Place.taken_by(passed)
                if place not in wanted:
                    raise ListenError(
                        f"no listener uses the socket that was passed for {Address(place.host, place.port)}: "
                        "write the host of listeners[].bind, and its port or one of listeners[].brokers"
                    )


def _places_of(listener: Listener) -> Iterator[Place]:
    """Every place where this listener may ever listen."""
    bootstrap = Place.of(listener.bind)
    yield bootstrap
    brokers = listener.brokers
    if isinstance(brokers, BrokerPorts) and brokers.ports_from:
        for port in range(brokers.ports_from, brokers.ports_from + brokers.count):
            yield replace(bootstrap, port=port)


NO_SOCKETS: Final = PassedSockets()
