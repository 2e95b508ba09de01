"""Links of a report: which texts may become a link, and the names of places and files.

A client chooses its id, and a report.json may come from anywhere. So every link is checked where it is shown,
too. A link is a relative path, a mail address, or an address with `https`. Any other text stays text.
"""

import re
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

_MAIL: Final = re.compile(r"(?:mailto:)?([A-Za-z0-9.!_+=-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)")
_CHAT: Final = re.compile(r"#[^\s#].*")
_ADDRESS: Final = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
"""The characters of an address (RFC 3986)."""
_STEP: Final = r"[A-Za-z0-9_~%=-][A-Za-z0-9._~%=-]*"
_RELATIVE: Final = re.compile(rf"(?:\.\./)*(?:{_STEP}/)*{_STEP}")
_MAX_CHARS: Final = 2_000
_SLUG_CHARS: Final = 40
_DIGITS: Final = 16


def channel_link(channel: str | None) -> str | None:
    """The link to an owner's channel: `mailto:…` or `https://…`; None for any other text."""
    if channel is None or len(channel) > _MAX_CHARS:
        return None
    if mail := _MAIL.fullmatch(channel):
        return f"mailto:{mail[1]}"
    return channel if _is_absolute(channel, "https") else None


def require_channel(channel: str) -> None:
    """Raises ValueError, with the allowed forms, if a channel has none of them."""
    if channel_link(channel) is None and not (_CHAT.fullmatch(channel) and channel.isprintable()):
        raise ValueError(
            "a mail address, an address that begins with https://, or a channel's name that begins with #"
        )


def relative(link: str | None) -> str | None:
    """The same link if it is a relative path; None for any other text."""
    is_path = link is not None and len(link) <= _MAX_CHARS and _RELATIVE.fullmatch(link)
    return link if is_path else None


def anchor(kind: str, *names: str | None) -> str:
    """The id of a place on the page, such as `topic-orders-6d1f…`: letters, digits and hyphens."""
    return f"{kind}-{slug(*names)}"


PAGES: Final = re.compile(r"topic-(?:[a-z0-9-]+-)?[0-9a-f]{16}\.html")
"""The names of the pages of topics, which earlier releases wrote."""


def address(text: str) -> str:
    """The text of `--address` without a slash at its end. Raises ValueError if it is no address."""
    if not _is_absolute(text, "https", "http"):
        raise ValueError(f"{text!r} is not an address such as https://reports.example.com")
    return text.rstrip("/")


def slug(*names: str | None) -> str:
    """Lower-case letters, digits and hyphens for these names; different ones for different names."""
    written = "\0".join("-" if name is None else f"+{name}" for name in names)
    digest = sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    readable = re.sub(r"[^a-z0-9]+", "-", (names[0] or "").lower())[:_SLUG_CHARS].strip("-")
    return f"{readable}-{digest}" if readable else digest


def _is_absolute(text: str, *schemes: str) -> bool:
    if len(text) > _MAX_CHARS or not _ADDRESS.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and text.startswith(f"{parts.scheme}://")
    except ValueError:  # such as a bracket in the host
        return False
