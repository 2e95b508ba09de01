"""Connects to brokers: one connection for each client. It tries the given addresses in turn.

While no name server answers, a broker is tried at the address that it had last. A name that does not exist
any more is another matter, since its old address may belong to somebody else.
"""

import asyncio
import errno
import os
import socket
import ssl
from asyncio.staggered import staggered_race
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from tsproxy.log_events.catalogue import BROKER_NAME_NOT_RESOLVED
from tsproxy.model.addresses import Address, ip_or_none
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.tls.contexts import HANDSHAKE_S, CurrentTls, handshake_text

CONNECT_S: Final = 10.0
"""How long one address may take, including name lookup and TLS handshake."""
NEXT_ADDRESS_S: Final = 3.0
"""The same while other addresses are left, without the name lookup."""
LAST_ADDRESS_S: Final = 30.0
"""After this time no further address is tried: clients have given up."""
SILENT_S: Final = 60.0
"""How long an address that was silent is tried after all others."""
NAME_S: Final = 8.0
"""How long a look-up of a broker's name may take, within CONNECT_S."""
LAST_NAME_S: Final = 2.0
"""The same if the address that the broker had last is known. Then that one is tried."""
NEXT_HOST_S: Final = 0.5
"""How long an IP address of a name may be silent until the next one is tried beside it (RFC 8305)."""


LAST_HOSTS: Final = Ceiling(
    "the addresses that brokers had last",
    most=1_000,
    most_bytes=1 << 20,
    when_full="the oldest is forgotten: it needs a name server again",
    entry_bytes=A_PLACE + 500,
)

UNRESOLVED: Final = Ceiling(
    "the brokers whose names no name server answered for",
    most=1_000,
    most_bytes=1 << 20,
    when_full="the oldest is not warned of any more",
    entry_bytes=A_PLACE + 100,
)

SILENT: Final = Ceiling(
    "the addresses that were silent lately",
    most=1_000,
    most_bytes=1 << 20,
    when_full="the oldest is tried in its turn again",
    entry_bytes=A_PLACE + 100,
)

REMEMBERED_S: Final = 120.0
"""How long a name that was not resolved is warned of, if nobody asks for it again."""

CONNECT_ERRORS: Final = (OSError, TimeoutError, UnicodeError)
"""The errors that connecting raises; UnicodeError is for a host name that no DNS can have."""


To = dict[str, Any]
Connection = TypeVar("Connection")


class UpstreamError(Exception):
    """No address could be connected to. The text names each address with its reason."""


class Upstream:
    """Connects to brokers; `tls` is None for plain connections. `on_connected` is called with each address
    that was reached, before a byte of its client is judged."""

    __slots__ = ("_last_hosts", "_on_connected", "_silent", "_tls", "_unresolved")

    def __init__(
        self, tls: CurrentTls | None, on_connected: Callable[[Address], None] = lambda _: None
    ) -> None:
        self._last_hosts = Bounded[Address, str](LAST_HOSTS)
        self._on_connected = on_connected
        self._silent = Bounded[Address, float](SILENT)
        """When an address was silent last."""
        self._tls = tls
        self._unresolved = Bounded[Address, float](UNRESOLVED)
        """The names that no name server answered for, and when."""

    @property
    def unresolved(self) -> list[Address]:
        """The brokers for whose names no name server answers now."""
        oldest_s = _now_s() - REMEMBERED_S
        while (oldest := self._unresolved.oldest) is not None and oldest[1] <= oldest_s:
            self._unresolved.pop(oldest[0])
        return list(self._unresolved)

    def warnings(self) -> list[str]:
        """A sentence if no name server answers."""
        names = [address.host for address in self.unresolved]
        if not names:
            return []
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        return [
            f"no name server answers for {shown}: clients are connected to the address that a broker had "
            "last, if there is one. Fix the name service"
        ]

    async def connect(
        self,
        addresses: Sequence[Address],
        protocol: asyncio.BaseProtocol,
        disown: Callable[[], None] = lambda: None,
    ) -> Address:
        """Connect `protocol` to the first address that answers, and return it. Raises UpstreamError if none
        does. Addresses that were silent lately come last.

        `disown` is called if an attempt fails. The time may be over in the turn of the loop in which the
        connection is made, after `connection_made`. uvloop never calls `connection_lost` then.
        """
        reasons, ends_s = [], _now_s() + LAST_ADDRESS_S
        remaining = sorted(addresses, key=self._was_silent)
        while remaining and _now_s() < ends_s:
            address = remaining.pop(0)
            within_s = NEXT_ADDRESS_S if remaining else CONNECT_S
            try:
                async with asyncio.timeout(CONNECT_S):
                    await self._connect_by_name(address, lambda: protocol, within_s)
            except BaseException as error:
                disown()
                if not isinstance(error, CONNECT_ERRORS):
                    raise
                if isinstance(error, TimeoutError):
                    self._silent.put(address, _now_s())
                text = connect_text(error, over_tls=self._tls is not None, within_s=within_s)
                reasons.append(f"{address}: {text}")
            else:
                self._silent.pop(address)
                self._on_connected(address)
                return address
        raise UpstreamError("; ".join(reasons) or "no broker is known")

    def _was_silent(self, address: Address) -> bool:
        silent_s = self._silent.get(address)
        return silent_s is not None and _now_s() < silent_s + SILENT_S

    async def _connect_by_name(
        self, address: Address, factory: Callable[[], asyncio.BaseProtocol], within_s: float
    ) -> None:
        last_host = self._last_hosts.get(address)
        try:
            hosts = await hosts_of(address, LAST_NAME_S if last_host is not None else NAME_S)
        except socket.gaierror as error:
            if error.errno != socket.EAI_AGAIN:
                raise
            is_known = address in self._unresolved
            self._unresolved.put(address, _now_s())
            if last_host is None:
                raise
            if not is_known:
                BROKER_NAME_NOT_RESOLVED(broker=str(address), tried=last_host)
            await self._connect([last_host], address, factory, within_s)
        else:
            self._unresolved.pop(address)
            transport = await self._connect(hosts, address, factory, within_s)
            if (peer := transport.get_extra_info("peername")) is not None:  # None: it has ended already
                self._last_hosts.put(address, peer[0])

    async def _connect(
        self,
        hosts: Sequence[str],
        address: Address,
        factory: Callable[[], asyncio.BaseProtocol],
        within_s: float,
    ) -> asyncio.Transport:
        """Connect to one of `hosts`, whose certificate must have the name in `address`."""
        loop, options = asyncio.get_running_loop(), To()
        if self._tls:
            options = {"ssl": self._tls(), "server_hostname": address.host}

        async def handshake(to: To, share_s: float | None) -> asyncio.Transport:
            if self._tls:  # the loop ends it: a cancellation could come after `connection_made`
                options["ssl_handshake_timeout"] = share_s or HANDSHAKE_S
            transport: asyncio.Transport = (await loop.create_connection(factory, **to, **options))[0]
            return transport

        async with asyncio.timeout(within_s):
            return await with_any(hosts, address.port, handshake, within_s)


async def with_any(
    hosts: Sequence[str],
    port: int,
    attempt: Callable[[To, float | None], Awaitable[Connection]],
    within_s: float | None = None,
) -> Connection:
    """The connection to the first of a name's IP addresses that answers. While others are left, an address
    may be silent for a part of the time, since a process that is stopped still accepts connections.

    `attempt` gets `create_connection`'s options for one address, and that part (None: all the time).
    """
    remaining, share_s = list(hosts), (within_s or CONNECT_S) / len(hosts)
    while len(remaining) > 1:
        # Only this is a race: `attempt` is for one connection at a time.
        attempts = [partial(_reached, host, port) for host in remaining]
        reached, place, errors = await staggered_race(attempts, NEXT_HOST_S)
        if reached is None or place is None:
            raise errors[-1] or OSError("no address")
        remaining.pop(place)
        try:
            return await attempt({"sock": reached}, share_s)
        except ssl.SSLError:
            raise
        except OSError:  # a TimeoutError, too
            continue
    return await attempt({"host": remaining[0], "port": port}, None)


async def _reached(host: str, port: int) -> socket.socket:
    reached = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        reached.setblocking(False)
        await asyncio.get_running_loop().sock_connect(reached, (host, port))
    except BaseException:
        reached.close()
        raise
    return reached


async def hosts_of(address: Address, within_s: float) -> Sequence[str]:
    """The IP addresses of a host. Raises gaierror, with EAI_AGAIN if no name server answers in time: a
    resolver may try silent servers for a minute. Raises UnicodeError for what no name can be."""
    if ip_or_none(address.host) is not None:
        return [address.host]
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(within_s):
            entries = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except TimeoutError:
        text = f"no name server has answered for {within_s:g} s"
        raise socket.gaierror(socket.EAI_AGAIN, text) from None
    return [*dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in entries)]


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def connect_text(error: Exception, *, over_tls: bool, within_s: float | None = None) -> str:
    """A short text that says why a connection could not be made."""
    # A plain listener reads the handshake as a request of absurd size, and closes.
    was_cut_off = isinstance(error, ConnectionResetError | BrokenPipeError)
    if isinstance(error, ssl.SSLError) or (over_tls and was_cut_off):
        return handshake_text(error)
    if isinstance(error, TimeoutError):
        return f"no answer within {within_s or CONNECT_S:g} s"
    if isinstance(error, UnicodeError):
        return "not a host name"
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return os.strerror(error.errno)  # asyncio's own text only repeats the address
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
