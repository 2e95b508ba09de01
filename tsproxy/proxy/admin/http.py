"""A few pages over HTTP/1.1, for scrapers, probes and people.

Small on purpose: GET and HEAD, one request a connection, every read bounded in bytes and time, a
bounded number of connections. Nothing here waits for anything but the other end and the page itself. A
browser is answered only where it asks by a name of this proxy's (`hosts`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from tsproxy.config.settings import Config
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin.hosts import misdirected, read_headers
from tsproxy.proxy.ports import ListenError, listen_text

MAX_HEAD_BYTES: Final = 8 * 1024
MAX_CONNECTIONS: Final = 64
PATIENCE_S: Final = 5.0
"""For the whole request to come, and again for the whole answer to be taken."""

TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    status: HTTPStatus
    body: bytes
    content_type: str = TEXT
    allow: str | None = None
    policy: str | None = None
    """Its Content-Security-Policy."""


Page = Callable[[], Answer | Awaitable[Answer]]
"""A page that must be asked for elsewhere bounds its own patience, below PATIENCE_S."""


OwnNames = Callable[[], Collection[str]]
"""The hosts by which a browser may ask, beside addresses and localhost, as configured now."""


def own_names(config: Config) -> Collection[str]:
    """The host of `admin.bind`, and `admin.hosts`."""
    return (*([config.admin_bind.host] if config.admin_bind else []), *config.admin_hosts)


class AdminHttp:
    """Serves `pages` by path; one with a query of its own (`/path?query`) by the whole of that."""

    def __init__(self, pages: Mapping[str, Page], own_names: OwnNames = tuple) -> None:
        self._connections = 0
        self._own_names = own_names
        self._pages = pages
        self._server: asyncio.Server | None = None

    async def start(self, bind: Address) -> Address:
        """Listen; returns the address with the real port. Raises ListenError."""
        try:
            self._server = await asyncio.start_server(self._serve, bind.host, bind.port, limit=MAX_HEAD_BYTES)
        except OSError as error:
            raise ListenError(listen_text(bind, error)) from None
        return Address(bind.host, self._server.sockets[0].getsockname()[1])

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= MAX_CONNECTIONS:
                async with asyncio.timeout(PATIENCE_S):
                    is_head, answer = await self._answer(reader)
                async with asyncio.timeout(PATIENCE_S):
                    await _send(_encode(answer, with_body=not is_head), reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the other end went away, or is too slow to be served
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[bool, Answer]:
        """Read one request's head. Raises IncompleteReadError where the other end stops early."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return False, _plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        target, _, version = rest.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not target.startswith(b"/"):
            return False, _plain(HTTPStatus.BAD_REQUEST)
        text = misdirected(read_headers(head), self._own_names())
        if text is not None:
            return method == b"HEAD", Answer(HTTPStatus.MISDIRECTED_REQUEST, f"{text}\n".encode())
        whole = target.decode("latin-1")
        page = self._pages.get(whole) or self._pages.get(whole.partition("?")[0])
        if page is None:
            return method == b"HEAD", _plain(HTTPStatus.NOT_FOUND)
        if method not in (b"GET", b"HEAD"):
            return False, Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"Method Not Allowed\n", allow="GET, HEAD")
        answer = page()
        return method == b"HEAD", answer if isinstance(answer, Answer) else await answer


async def _send(answer: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send, and wait for the other end's goodbye: closing with bytes unread would make the kernel
    reset the connection, and take the answer to an oversized request with it."""
    writer.write(answer)
    writer.write_eof()
    while await reader.read(MAX_HEAD_BYTES):
        pass


def _plain(status: HTTPStatus) -> Answer:
    return Answer(status, status.phrase.encode() + b"\n")


def _encode(answer: Answer, *, with_body: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if answer.policy:
        lines.append(f"Content-Security-Policy: {answer.policy}")
    if answer.allow:
        lines.append(f"Allow: {answer.allow}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (answer.body if with_body else b"")
