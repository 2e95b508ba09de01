"""What is found out about a client before a broker is connected for it.

In this order: the PROXY protocol's header, where a load balancer sends one, since it stands before
everything else; the TLS handshake, with the host name that the client asked for (SNI) and the
certificate that it showed; the principal which that certificate stands for.
"""

import asyncio
import socket
import ssl
from dataclasses import dataclass, replace
from typing import Final, cast

from tsproxy.config.settings import Listener, ProxyProtocol
from tsproxy.model.addresses import is_in
from tsproxy.model.outcome import Peer
from tsproxy.model.principals import principal_of
from tsproxy.proxy.connections.proxy_protocol import HEAD_BYTES, read_head, read_source
from tsproxy.proxy.limits.limit import Limit
from tsproxy.tls.connection import TlsConnection
from tsproxy.tls.contexts import CurrentTls, handshake_text
from tsproxy.tls.x509 import read_certificate
from tsproxy.wire.primitives import DecodeError

PRINCIPAL_NOT_MAPPED: Final = "principal_not_mapped"
PROXY_HEADER_REJECTED: Final = "proxy_header_rejected"
TLS_HANDSHAKE_FAILED: Final = "tls_handshake_failed"


@dataclass(frozen=True, slots=True)
class Handshake:
    """`asked_host`: the host name of the TLS handshake, in lower case."""

    peer: Peer
    asked_host: str | None = None


class HandshakeError(Exception):
    """The client is not let in: `event` for the log, and why. Its socket is closed."""

    def __init__(self, event: str, peer: Peer, text: str, limit: Limit | None = None) -> None:
        super().__init__(text)
        self.event = event
        self.peer = peer
        self.limit = limit


async def shake_hands(
    connection: socket.socket,
    peer: Peer,
    listener: Listener,
    tls: CurrentTls | None,
    patience_s: float,
    protocol: asyncio.BaseProtocol,
) -> Handshake:
    """Connect `protocol` to the client, once it is known who it is. Raises HandshakeError.

    `patience_s` is for the header, and again for the handshake (`limits.handshake`).
    """
    if listener.proxy_protocol is not None:
        peer = await _behind_load_balancer(connection, peer, listener.proxy_protocol, patience_s)
    transport = await _connected(connection, peer, tls, patience_s, protocol)
    handshake = transport.get_extra_info("ssl_object")
    if handshake is None:
        return Handshake(peer)
    try:
        principal = _principal(handshake, listener)
    except DecodeError as error:
        transport.abort()
        raise HandshakeError(PRINCIPAL_NOT_MAPPED, peer, str(error)) from None
    return Handshake(replace(peer, principal=principal), cast("TlsConnection", handshake).asked_host)


async def _behind_load_balancer(
    connection: socket.socket, peer: Peer, proxy_protocol: ProxyProtocol, patience_s: float
) -> Peer:
    """`peer` with the address that the header names. Not a byte beyond the header is read, and of one who
    is not trusted not even that: its word would pass for a rule's address."""
    if not is_in(peer.client_address, proxy_protocol.trusted):
        connection.close()
        text = f"{peer.client_address} is not among the load balancer's (listeners[].proxy_protocol.from)"
        raise HandshakeError(PROXY_HEADER_REJECTED, peer, text)
    try:
        async with asyncio.timeout(patience_s):
            head = read_head(await _exactly(connection, HEAD_BYTES))
            source = read_source(head, await _exactly(connection, head.length))
    except TimeoutError:
        connection.close()
        text = f"no PROXY protocol header within {patience_s:g} s (limits.handshake)"
        raise HandshakeError(PROXY_HEADER_REJECTED, peer, text, Limit.HANDSHAKE) from None
    except (OSError, DecodeError) as error:
        connection.close()
        raise HandshakeError(PROXY_HEADER_REJECTED, peer, f"{error} (listeners[].proxy_protocol)") from None
    except BaseException:
        connection.close()
        raise
    return peer if source is None else replace(peer, client_address=source[0], client_port=source[1])


async def _exactly(connection: socket.socket, size: int) -> bytes:
    loop, data = asyncio.get_running_loop(), b""
    while len(data) < size:
        more = await loop.sock_recv(connection, size - len(data))
        if not more:
            raise DecodeError("closed before its PROXY protocol header was whole")
        data += more
    return data


async def _connected(
    connection: socket.socket,
    peer: Peer,
    tls: CurrentTls | None,
    patience_s: float,
    protocol: asyncio.BaseProtocol,
) -> asyncio.Transport:
    try:
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
            lambda: protocol,
            connection,
            ssl=tls() if tls else None,
            ssl_handshake_timeout=patience_s if tls else None,
        )
    except ConnectionAbortedError:  # what both loops raise when its time is over
        text = f"no TLS handshake within {patience_s:g} s (limits.handshake): does the other side speak TLS?"
        raise HandshakeError(TLS_HANDSHAKE_FAILED, peer, text, Limit.HANDSHAKE) from None
    except (OSError, TimeoutError) as error:
        raise HandshakeError(TLS_HANDSHAKE_FAILED, peer, handshake_text(error)) from None
    return transport


def _principal(handshake: ssl.SSLObject, listener: Listener) -> str | None:
    """Who the client's certificate says it is; None without one. Raises DecodeError.

    A certificate that no rule maps is rejected, as a broker rejects it.
    """
    der = handshake.getpeercert(binary_form=True)
    if not der:
        return None
    subject = read_certificate(der).subject
    rules = listener.tls.principal_mapping if listener.tls else ()
    principal = principal_of(subject, rules)
    if principal is None:
        raise DecodeError(f"no rule of tls.principal_mapping takes the subject {subject!r}")
    return principal
