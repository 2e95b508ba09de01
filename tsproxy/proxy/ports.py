"""A listening socket: it is bound first and opened later, and passes on every connection.

A port that is bound but not yet opened is reserved for us and rejects connections. To clients this looks like
a broker that is down.
"""

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

from tsproxy.log_events.catalogue import ACCEPTING_PAUSED
from tsproxy.model.addresses import Address

BACKLOG: Final = 65_535
"""Clients that wait to be accepted; the system's own bound (`net.core.somaxconn`, mostly 4,096) is lower. The
system drops the packet of a client that finds the queue full, and the client sends it again after 1, 3, 7 and
15 s. With 1,024 it took 20 to 29 s until 7,000 clients were back at one port, and 12 s with 4,096."""
ACCEPTS_A_TICK: Final = 4
"""A new client costs a third of a millisecond until it is served, with TLS more than a whole one, and nearly
all of that in the turns that follow. With 64 a turn took so long that a client that was there had its answers
after seconds, while 3,000 others came back at once. With 4 it has them after tenths, and the others come in
as fast."""
MAX_A_TICK: Final = 64
"""The same, with the clients that are turned away at once: that costs some microseconds. If they took the
places of others, one address with too many connections would keep all new clients of a busy proxy waiting. A
full queue of such clients takes 10 s, at 4 a turn of 10 ms."""
RETRY_DELAY_S: Final = 1.0
KEEPALIVE: Final = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
    if hasattr(socket, name)
}
"""Probes of a silent connection: the first one after 60 s, then each 15 s, and 4 without an answer end it.
NAT and load balancers forget silent connections after 240 s (Azure) or 350 s (AWS), and Linux waits for two
hours. Accepted sockets inherit these options."""

_OUT_OF_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Accepted = Callable[[socket.socket, str, int], bool]
"""Called with a connected, non-blocking socket and its peer's address and port. The function then owns the
socket. False if it has turned the client away."""


FIRST_OUTGOING: Final = 32_768
"""The first port that Linux gives to outgoing connections by default (ip-sysctl.rst). Other systems begin at
49152 (RFC 6335)."""

_Known = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]
"""An answer of `getaddrinfo`: family, kind, protocol, name, and the address with its port."""


class ListenError(Exception):
    """A port cannot be bound. The text says which one, why, and what to do."""


class Port:
    """A listening port. It is bound at once: port 0 takes any free port, and `address` has the real port.
    Raises ListenError.

    With `is_shared`, other processes of this user with the same setting may bind the same port. The kernel
    distributes connections over the processes that have opened the port.
    """

    __slots__ = ("_accepted", "_is_open", "_retry", "_socket", "address", "ip")

    def __init__(self, address: Address, accepted: Accepted, *, is_shared: bool = False) -> None:
        self._accepted = accepted
        self._is_open = False
        self._retry: asyncio.TimerHandle | None = None
        self._socket = bind(address, is_shared=is_shared)
        bound = self._socket.getsockname()
        self.ip = _ip(bound)
        self.address = Address(address.host, bound[1])

    def open(self) -> None:
        """Accept connections from now on. Raises ListenError if another process already listens."""
        try:
            self._socket.listen(BACKLOG)
        except OSError as error:
            raise ListenError(listen_text(self.address, error)) from None
        self._is_open = True
        self._watch()

    def close(self) -> None:
        """Stop accepting. Existing connections stay."""
        if self._retry is not None:
            self._retry.cancel()
        if self._is_open:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._is_open = False
        self._socket.close()

    def _watch(self) -> None:
        self._retry = None
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._accept)

    def _accept(self) -> None:
        let_in = 0
        for _ in range(MAX_A_TICK):
            try:
                connection, (host, port, *_) = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_RESOURCES:
                    raise
                self._pause(error)
                return
            connection.setblocking(False)
            let_in += self._accepted(connection, host, port)
            if let_in == ACCEPTS_A_TICK:
                return

    def _pause(self, error: OSError) -> None:
        """Pause after file descriptors ran out. Otherwise accepting would fail in a busy loop until some are
        closed."""
        ACCEPTING_PAUSED(address=str(self.address), error=error.strerror, retry_s=RETRY_DELAY_S)
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket.fileno())
        self._retry = loop.call_later(RETRY_DELAY_S, self._watch)


def each_address(address: Address) -> list[Address]:
    """The IP addresses of a host name, each with the port. Raises ListenError."""
    hosts = dict.fromkeys(_ip(sockaddr) for *_, sockaddr in _known(address))
    return [Address(host, address.port) for host in hosts]


def _ip(sockaddr: tuple[Any, ...]) -> str:
    """The IP address with its zone, which a link-local address needs. The first part of `sockaddr` has
    none."""
    return socket.getnameinfo(sockaddr, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0]


def bind(address: Address, *, is_shared: bool = False) -> socket.socket:
    """A non-blocking socket that is bound to the port and does not listen yet. Raises ListenError."""
    family, kind, protocol, _, sockaddr = _known(address)[0]
    try:
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ListenError(listen_text(address, error)) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for option, value in KEEPALIVE.items():
            listening.setsockopt(socket.IPPROTO_TCP, option, value)
        if is_shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            # As in asyncio: "::" must not bind the IPv4 port as well, or nobody could configure both.
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.setblocking(False)
        listening.bind(sockaddr)
    except OSError as error:
        listening.close()
        raise ListenError(listen_text(address, error)) from None
    return listening


def _known(address: Address) -> Sequence[_Known]:
    """The system's answers for a host to listen on. Raises ListenError."""
    try:
        return socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except UnicodeError:
        raise ListenError(f"cannot listen on {address}: not a host name") from None
    except OSError as error:
        raise ListenError(listen_text(address, error)) from None


_ADVICE: Final = {
    errno.EADDRNOTAVAIL: "no interface of this machine has that address: use one of its own, or 0.0.0.0",
    errno.EACCES: "this user may not listen there: choose a port from 1024 upward",
}


def listen_text(address: Address, error: OSError) -> str:
    """The reason why a socket cannot listen on the address, and what to do."""
    is_taken = error.errno == errno.EADDRINUSE
    advice = _taken_text(address.port) if is_taken else _ADVICE.get(error.errno or 0)
    return f"cannot listen on {address}: {advice or error.strerror or error}"


def _taken_text(port: int) -> str:
    """The advice about a port that is in use. The system may give any unbound port of its range to an
    outgoing connection. Such a port stays in use until a minute after that connection has ended (TIME_WAIT),
    even with SO_REUSEADDR."""
    if port < FIRST_OUTGOING:
        return "another program listens there: stop it or choose another port"
    return (
        "another program listens there, or an outgoing connection of this machine has the port: stop the "
        f"program, or choose a port below {FIRST_OUTGOING}, where outgoing connections begin"
    )
