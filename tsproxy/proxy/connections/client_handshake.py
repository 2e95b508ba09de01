"""The handshake with a client, before a broker connection is made for it.

It reads, in this order: the header of the PROXY protocol, if a load balancer sends one, since it comes before
everything else; the TLS handshake, with the requested host name (SNI) and the client's certificate; the
principal of that certificate.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from tsproxy.config.settings import Listener, ProxyProtocol
from tsproxy.decisions.text import bounded
from tsproxy.log_events.catalogue import (
    PRINCIPAL_NOT_MAPPED,
    PROXY_HEADER_REJECTED,
    TLS_HANDSHAKE_FAILED,
    LogEvent,
)
from tsproxy.model.addresses import is_in
from tsproxy.model.outcome import Peer
from tsproxy.model.principals import MAX_SUBJECT, principal_of
from tsproxy.proxy.connections.proxy_protocol import HEAD_BYTES, read_head, read_source
from tsproxy.proxy.limits.admission import Limit, ProxyReason
from tsproxy.proxy.metrics.results import Result
from tsproxy.tls.contexts import TlsConnection, handshake_text, rejects_their_certificate
from tsproxy.tls.x509 import read_certificate
from tsproxy.wire.primitives import DecodeError

_SHORTEST_S: Final = 0.001
"""asyncio accepts no time limit of 0."""


@dataclass(frozen=True, slots=True)
class Handshake:
    """The result of a handshake. `asked_host` is the host name of the TLS handshake, in lower case."""

    peer: Peer
    asked_host: str | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """The rules for one client. They are taken once, when the client is accepted: a reload meanwhile must
    not mix old and new, such as new authorities with old rules for the principals of their certificates."""

    listener: Listener
    tls: ssl.SSLContext | None


class Patience:
    """The time limit of one handshake (`limits.handshake`), from now on."""

    def __init__(self, patience_s: float) -> None:
        self.total_s = patience_s
        self.ends_s = asyncio.get_running_loop().time() + patience_s

    @property
    def left_s(self) -> float:
        return max(_SHORTEST_S, self.ends_s - asyncio.get_running_loop().time())


class _ClosedError(DecodeError):
    """The connection ended within the header."""


_EVENTS: Final[Mapping[ProxyReason, LogEvent]] = {
    ProxyReason.PRINCIPAL_NOT_MAPPED: PRINCIPAL_NOT_MAPPED,
    ProxyReason.PROXY_HEADER_REJECTED: PROXY_HEADER_REJECTED,
    ProxyReason.TLS_HANDSHAKE_FAILED: TLS_HANDSHAKE_FAILED,
}


class HandshakeError(Exception):
    """The client is rejected. `event` is for the log. The socket is closed. `has_left` is True if the client
    has only closed the connection, as health checks of load balancers do."""

    def __init__(
        self,
        reason: ProxyReason,
        peer: Peer,
        text: str,
        limit: Limit | None = None,
        *,
        has_left: bool = False,
        result: Result = Result.HANDSHAKE_FAILED,
    ) -> None:
        super().__init__(text)
        self.event = _EVENTS[reason]
        self.reason = reason
        self.has_left = has_left
        self.result = result
        self.peer = peer
        self.limit = limit


async def shake_hands(
    connection: socket.socket,
    peer: Peer,
    terms: Terms,
    patience: Patience,
    protocol: asyncio.BaseProtocol,
) -> Handshake:
    """Perform the handshake behind `source_of`, then connect `protocol` to the client. Raises
    HandshakeError."""
    if terms.tls is not None:
        await _first_byte(connection, peer, patience)
    transport = await _connected(connection, peer, terms.tls, patience, protocol)
    handshake = transport.get_extra_info("ssl_object")
    if handshake is None:
        return Handshake(peer)
    try:
        principal = _principal(handshake, terms.listener)
    except DecodeError as error:
        transport.abort()
        raise HandshakeError(
            ProxyReason.PRINCIPAL_NOT_MAPPED, peer, str(error), result=Result.CERTIFICATE_REJECTED
        ) from None
    return Handshake(replace(peer, principal=principal), cast("TlsConnection", handshake).asked_host)


async def source_of(
    connection: socket.socket, peer: Peer, proxy_protocol: ProxyProtocol | None, patience: Patience
) -> Peer:
    """`peer` with the address from a load balancer's header, if there is to be one. No byte beyond the header
    is read. Nothing is read from a peer that is not trusted, since such a peer could choose the address that
    rules match. Raises HandshakeError."""
    if proxy_protocol is None:
        return peer
    if not is_in(peer.client_address, proxy_protocol.trusted):
        connection.close()
        text = f"{peer.client_address} is not the load balancer's (listeners[].proxy_protocol.from)"
        raise HandshakeError(ProxyReason.PROXY_HEADER_REJECTED, peer, text)
    try:
        async with asyncio.timeout_at(patience.ends_s):
            head = read_head(await _exactly(connection, HEAD_BYTES))
            source = read_source(head, await _exactly(connection, head.length))
    except TimeoutError:
        connection.close()
        text = f"no PROXY protocol header within {patience.total_s:g} s (limits.handshake)"
        raise HandshakeError(ProxyReason.PROXY_HEADER_REJECTED, peer, text, Limit.HANDSHAKE) from None
    except (OSError, DecodeError) as error:
        connection.close()
        text = f"{error} (listeners[].proxy_protocol)"
        has_left = isinstance(error, OSError | _ClosedError)
        raise HandshakeError(ProxyReason.PROXY_HEADER_REJECTED, peer, text, has_left=has_left) from None
    except BaseException:
        connection.close()
        raise
    return peer if source is None else replace(peer, client_address=source[0], client_port=source[1])


async def _exactly(connection: socket.socket, size: int) -> bytes:
    loop, data = asyncio.get_running_loop(), b""
    while len(data) < size:
        more = await loop.sock_recv(connection, size - len(data))
        if not more:
            raise _ClosedError("closed before its PROXY protocol header was whole")
        data += more
    return data


async def _first_byte(connection: socket.socket, peer: Peer, patience: Patience) -> None:
    """Wait until the client has sent a byte, which stays unread. Raises HandshakeError.

    A health check sends nothing. A client that leaves after its first byte was not content. Python's asyncio,
    for one, says nothing when it rejects a certificate.
    """
    loop, is_readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection, is_readable.set)
    try:
        async with asyncio.timeout_at(patience.ends_s):
            await is_readable.wait()
        has_left = not connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        raise _too_slow(peer, patience) from None
    except OSError:
        has_left = True
    finally:
        loop.remove_reader(connection)
        if not is_readable.is_set():
            connection.close()
    if has_left:
        connection.close()
        raise HandshakeError(ProxyReason.TLS_HANDSHAKE_FAILED, peer, handshake_text(OSError()), has_left=True)


async def _connected(
    connection: socket.socket,
    peer: Peer,
    tls: ssl.SSLContext | None,
    patience: Patience,
    protocol: asyncio.BaseProtocol,
) -> asyncio.Transport:
    try:
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
            lambda: protocol,
            connection,
            ssl=tls,
            ssl_handshake_timeout=patience.left_s if tls else None,
        )
    except ConnectionAbortedError:  # both loops raise this at the time limit
        raise _too_slow(peer, patience) from None
    except (OSError, TimeoutError) as error:
        result = Result.CERTIFICATE_REJECTED if rejects_their_certificate(error) else Result.HANDSHAKE_FAILED
        text = handshake_text(error)
        raise HandshakeError(ProxyReason.TLS_HANDSHAKE_FAILED, peer, text, result=result) from None
    return transport


def _too_slow(peer: Peer, patience: Patience) -> HandshakeError:
    text = (
        f"no TLS handshake within {patience.total_s:g} s (limits.handshake): does the other side speak TLS?"
    )
    return HandshakeError(ProxyReason.TLS_HANDSHAKE_FAILED, peer, text, Limit.HANDSHAKE)


def _principal(handshake: ssl.SSLObject, listener: Listener) -> str | None:
    """The principal that the client's certificate maps to; None without a certificate, or if versions of Java
    make different principals of it. Raises DecodeError.

    A certificate that no mapping rule matches is rejected, as a broker does.
    """
    der = handshake.getpeercert(binary_form=True)
    if not der:
        return None
    rules = listener.tls.principal_mapping if listener.tls else ()
    principals: set[str] = set()
    for subject in read_certificate(der).spellings:
        principal = principal_of(subject, rules)
        if principal is None:
            if len(subject) > MAX_SUBJECT:
                raise DecodeError(
                    f"a subject of {len(subject)} characters, at most {MAX_SUBJECT} are allowed"
                )
            raise DecodeError(f"no rule of tls.principal_mapping matches the subject {bounded(subject)!r}")
        principals.add(principal)
    return principals.pop() if len(principals) == 1 else None
