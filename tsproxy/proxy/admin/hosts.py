"""`misdirected`: the host names under which a browser may open the admin pages.

A page on the Internet can point its own name to an internal address (DNS rebinding). Through the browser of
somebody inside, the page can then read the admin port as if it were the page's own server. The browser
reveals this, since it sends the page's host name in `Host`. So a browser must use an address, localhost, the
host of `admin.bind`, or a name in `admin.hosts`.

Other clients may use any name. A scrape uses the name of a Service or a host, and nobody can make
Prometheus, a kubelet or curl request the page of a stranger. A list of names for these clients would break
scrapes that work, and protect nobody.

A browser is recognized by a header that scripts cannot remove from its requests. Over plain HTTP browsers
send no `Sec-Fetch-*`, and may send neither `Origin` nor `Referer`. They always send `Accept-Language` (Fetch
standard), though a script may choose its value.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

from tsproxy.decisions.text import bounded
from tsproxy.model.addresses import ip_or_none

MAX_SHOWN: Final = 100
"""The most characters of a name that an error text repeats."""

_BROWSER_HEADERS: Final = ("accept-language", "cookie", "origin", "referer")
_BROWSER_HEADER_START: Final = "sec-fetch-"
_LOCAL: Final = "localhost"
_PORT: Final = re.compile(r"(:[0-9]*)?")

Headers = Sequence[tuple[str, str]]
"""Names in lower case with their values, in the order of arrival."""


def read_headers(head: bytes) -> Headers:
    """The headers in a request's head. A line without a colon is ignored."""
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return [
        (name.strip().decode("latin-1").lower(), value.strip().decode("latin-1"))
        for name, colon, value in lines
        if colon
    ]


def misdirected(headers: Headers, own_names: Collection[str]) -> str | None:
    """The reason why a browser gets no page, or None if the client may get one. `own_names` are the names of
    this proxy's hosts."""
    if not _is_from_browser(headers):
        return None
    hosts = [value for name, value in headers if name == "host"]
    name = _name(hosts[0]) if len(hosts) == 1 else None
    if name is not None and _is_own(name, own_names):
        return None
    shown = bounded(name or ", ".join(hosts), MAX_SHOWN)
    return (
        f"A browser gets no page here under the name {shown!a}: any page on the Internet could ask by a name "
        "of its own (DNS rebinding). Ask by an address or by localhost, or list the name in admin.hosts."
    )


def _is_from_browser(headers: Headers) -> bool:
    return any(
        name in _BROWSER_HEADERS
        or name.startswith(_BROWSER_HEADER_START)
        or (name == "user-agent" and value.startswith("Mozilla/"))
        for name, value in headers
    )


def _name(host: str) -> str | None:
    """The name or address in a Host header, without its port; None if it is neither."""
    if host.startswith("["):
        inner, bracket, port = host[1:].partition("]")
        is_whole = bool(bracket) and ip_or_none(inner) is not None
    else:
        inner, colon, digits = host.partition(":")
        is_whole, port = bool(inner), colon + digits
    return inner.lower().removesuffix(".") if is_whole and _PORT.fullmatch(port) else None


def _is_own(name: str, own_names: Collection[str]) -> bool:
    return (
        name == _LOCAL
        or name.endswith(f".{_LOCAL}")  # browsers resolve it to their own machine (RFC 6761, 6.3)
        or ip_or_none(name) is not None
        or name in (host.lower().removesuffix(".") for host in own_names)
    )
