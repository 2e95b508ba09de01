"""A few pages over HTTP/1.1, for scrapers, probes and people.

It is small on purpose: GET and HEAD, one request per connection, every read bounded in bytes and time, a
bounded number of connections. It waits only for the other end and for the page. It answers a browser only
under a name of this proxy (`hosts`).
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
"""The time limit for reading the whole request, and again for sending the whole answer."""

TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    status: HTTPStatus
    body: bytes
    content_type: str = TEXT
    allow: str | None = None
    policy: str | None = None
    """The Content-Security-Policy of the page."""


Page = Callable[[], Answer | Awaitable[Answer]]
"""Makes a page. A page that needs answers from elsewhere has a time limit of its own, below PATIENCE_S."""


OwnNames = Callable[[], Collection[str]]
"""The hosts that a browser may use besides addresses and localhost, by the current configuration."""


def own_names(config: Config) -> Collection[str]:
    """The host of `admin.bind`, and `admin.hosts`."""
    return (*([config.admin_bind.host] if config.admin_bind else []), *config.admin_hosts)


class AdminHttp:
    """Serves `pages` by path. A page with a query of its own (`/path?query`) is served for exactly that
    query."""

    def __init__(self, pages: Mapping[str, Page], own_names: OwnNames = tuple) -> None:
        self._connections = 0
        self._own_names = own_names
        self._pages = pages
        self._server: asyncio.Server | None = None

    async def start(self, bind: Address) -> Address:
        """Listen. Returns the address with the real port. Raises ListenError."""
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
            pass  # the other end closed the connection, or is too slow
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[bool, Answer]:
        """Read one request's head. Raises IncompleteReadError if the other end stops early."""
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
    """Send, and wait until the other end closes. If we closed with bytes unread, the kernel would reset the
    connection, and the answer to an oversized request would be lost."""
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
