"""Serves a few pages over HTTP/1.1, to scrapers, probes and people.

The server is small on purpose: it has GET and HEAD, one request per connection, and a bound on the bytes and
the time of every read. It waits only for the other end and for the page. It answers a browser only under a
name of this proxy (`hosts`), and shows most pages only to readers who send the token (`access`). Strangers
cannot keep probes out: each address has a share of the places, and a new connection takes the place of the
oldest one that only waits for its client (`places`).
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from tsproxy.config.settings import AdminSettings
from tsproxy.model.addresses import Address, counted_as
from tsproxy.proxy.admin.access import WITHOUT_TOKEN, Reading
from tsproxy.proxy.admin.hosts import misdirected, read_headers
from tsproxy.proxy.admin.places import Place, Places
from tsproxy.proxy.ports import Port, each_address
from tsproxy.tls.contexts import CurrentTls

MAX_HEAD_BYTES: Final = 8 * 1024
HEAD_S: Final = 1.0
"""The time limit for the head of the request. A client sends it at once."""
REQUEST_TIMEOUT_S: Final = 5.0
"""The time limit for the TLS handshake, for making the page, and for sending the whole answer."""

TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is None if it was not made, for a HEAD request."""

    status: HTTPStatus
    body: bytes | None
    content_type: str = TEXT
    headers: tuple[str, ...] = ()


Page = Callable[[], Answer | Awaitable[Answer]]
"""Makes a page. A page that needs answers from elsewhere has a shorter time limit than REQUEST_TIMEOUT_S."""


@dataclass(frozen=True, slots=True)
class Document:
    """A page that is always there. Its content takes up to milliseconds of the event loop, so a HEAD request
    is answered without it."""

    content_type: str
    content: Callable[[], Awaitable[bytes]]
    headers: tuple[str, ...] = ()

    async def __call__(self) -> Answer:
        return self._answer(await self.content())

    def head(self) -> Answer:
        return self._answer(None)

    def _answer(self, body: bytes | None) -> Answer:
        return Answer(HTTPStatus.OK, body, self.content_type, self.headers)


class AdminHttp:
    """Serves `pages` by path, each connection under the settings and the TLS that are in force at its start.
    A page with a query of its own (`/path?query`) is served for exactly that query. With `tls` every
    connection uses TLS."""

    def __init__(
        self,
        pages: Mapping[str, Page],
        settings: Callable[[], AdminSettings] = AdminSettings,
        tls: CurrentTls | None = None,
    ) -> None:
        self._pages = pages
        self._ports: list[Port] = []
        self._places = Places()
        self._reading = Reading()
        self._settings = settings
        self._tls = tls

    def start(self, bind: Address) -> Address:
        """Listen. Returns the address with the real port. Raises ListenError."""
        port = bind.port
        for address in each_address(bind):
            self._ports.append(Port(Address(address.host, port), self._accepted))
            port = self._ports[0].address.port
        for opened in self._ports:
            opened.open()
        return Address(bind.host, port)

    def stop(self) -> None:
        for port in self._ports:
            port.close()

    def _accepted(self, connection: socket.socket, host: str, _: int) -> bool:
        place = self._places.take(counted_as(host))
        if place is None:
            connection.close()
            return False
        task = asyncio.get_running_loop().create_task(self._serve(connection, place))
        place.leave = task.cancel

        def ended(_: asyncio.Task[None]) -> None:
            self._places.free(place)
            connection.close()  # open still, if the task was cancelled before its first step

        task.add_done_callback(ended)
        return True

    async def _serve(self, connection: socket.socket, place: Place) -> None:
        # Both at one moment: a reload must not take the token away from a client without a certificate.
        settings, tls = self._settings(), self._tls() if self._tls else None
        try:
            reader, writer = await _streams(connection, tls)
        except OSError:  # the TLS handshake failed, or took too long
            return
        try:
            async with asyncio.timeout(HEAD_S):
                head = await _read_head(reader)
            place.waits_for_client = False
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                is_head, answer = await self.answer(head, settings)
            place.waits_for_client = True
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                await _send(_encode(answer, with_body=not is_head), reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the other end closed the connection, or is too slow
        finally:
            # Everything was sent and the other end has closed, or it is too slow. `close` would keep the
            # bytes and the descriptor of a client that reads nothing, and wait half a minute for the end of
            # its TLS.
            writer.transport.abort()

    async def answer(self, head: bytes | None, settings: AdminSettings) -> tuple[bool, Answer]:
        """Answer one request's head; None is a head that is too large. Returns (whether the method is HEAD,
        the answer)."""
        if head is None:
            return False, _plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        target, _, version = rest.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not target.startswith(b"/"):
            return False, _plain(HTTPStatus.BAD_REQUEST)
        headers, is_head = read_headers(head), method == b"HEAD"
        text = misdirected(headers, settings.own_names)
        if text is not None:
            return is_head, Answer(HTTPStatus.MISDIRECTED_REQUEST, f"{text}\n".encode())
        path, _, query = target.decode("latin-1").partition("?")
        may_read = settings.token is None or await self._reading.knows(settings.token, headers)
        if not may_read and path not in WITHOUT_TOKEN:
            return is_head, UNAUTHORIZED
        page = (may_read and self._pages.get(f"{path}?{query}")) or self._pages.get(path)
        if page is None:
            return is_head, _plain(HTTPStatus.NOT_FOUND)
        if method not in (b"GET", b"HEAD"):
            return False, METHOD_NOT_ALLOWED
        answer = page.head() if is_head and isinstance(page, Document) else page()
        whole = answer if isinstance(answer, Answer) else await answer
        return is_head, whole if may_read else _plain(whole.status)


async def _streams(
    connection: socket.socket, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The reader and the writer of the connection. Raises OSError if the TLS handshake fails."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(MAX_HEAD_BYTES, loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol,
        connection,
        ssl=tls,
        ssl_handshake_timeout=REQUEST_TIMEOUT_S if tls else None,
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _read_head(reader: asyncio.StreamReader) -> bytes | None:
    """One request's head, or None if it is too large. Raises IncompleteReadError if the other end stops
    early."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return None


async def _send(answer: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send, say that this was all, and wait until the other end closes. If we closed with bytes unread, the
    kernel would reset the connection, and the answer to an oversized request would be lost."""
    writer.transport.set_write_buffer_limits(0)
    writer.write(answer)
    await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
        while await reader.read(MAX_HEAD_BYTES):
            pass
    else:  # TLS: to close is to send the end, and to wait for that of the other
        writer.close()
        await writer.wait_closed()


def _plain(status: HTTPStatus, *headers: str) -> Answer:
    return Answer(status, status.phrase.encode() + b"\n", headers=headers)


UNAUTHORIZED: Final = _plain(HTTPStatus.UNAUTHORIZED, 'WWW-Authenticate: Basic realm="tsproxy"')
METHOD_NOT_ALLOWED: Final = _plain(HTTPStatus.METHOD_NOT_ALLOWED, "Allow: GET, HEAD")


def _encode(answer: Answer, *, with_body: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}",
        f"Content-Type: {answer.content_type}",
        *(() if answer.body is None else (f"Content-Length: {len(answer.body)}",)),
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
        *answer.headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (answer.body or b"" if with_body else b"")
