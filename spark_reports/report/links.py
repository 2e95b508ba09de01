"""Links of a report: which texts may become a link, and the names of places and files.

A client chooses its id, and a report.json may come from anywhere. So every link is checked where it is shown,
too. A link is a relative path, a mail address, or an address with `https` (with `http`, too, if it comes from
`--link-template`). Any other text stays text.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Final
from urllib.parse import quote, urlsplit

from spark_reports.report.shape_for_readers import Links

_MAIL: Final = re.compile(r"(?:mailto:)?([A-Za-z0-9.!_+=-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)")
_CHAT: Final = re.compile(r"#[^\s#].*")
_ADDRESS: Final = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%{}-]+")
"""The characters of an address (RFC 3986), and the braces of a template."""
_STEP: Final = r"[A-Za-z0-9_~%=-][A-Za-z0-9._~%=-]*"
_RELATIVE: Final = re.compile(rf"(?:\.\./)*(?:{_STEP}/)*{_STEP}")
_HOST: Final = re.compile(r"https?://([^/?#]*)")
_MOST_CHARS: Final = 2_000
_SLUG_CHARS: Final = 40
_DIGITS: Final = 16
_NAMES: Final = ("client_id", "principal", "first_day", "last_day")
_FIELD: Final = re.compile(r"\{([^{}]*)\}")
_ABOVE: Final = (".", "..")
"""Names that browsers take for a step in the path, even if they are percent-encoded."""


def channel_link(channel: str | None) -> str | None:
    """The link to an owner's channel: `mailto:…` or `https://…`; None for any other text."""
    if channel is None or len(channel) > _MOST_CHARS:
        return None
    if found := _MAIL.fullmatch(channel):
        return f"mailto:{found[1]}"
    return channel if _is_absolute(channel, "https") else None


def require_channel(channel: str) -> None:
    """Raises ValueError, with the allowed forms, if a channel has none of them."""
    if channel_link(channel) is None and not (_CHAT.fullmatch(channel) and channel.isprintable()):
        raise ValueError(
            "a mail address, an address that begins with https://, or a channel's name that begins with #"
        )


def template(text: str) -> str:
    """The text of `--link-template`, checked. Raises ValueError with a text that says what is allowed."""
    if not _is_template(text):
        raise ValueError(
            f"{text!r} is not an address such as https://dashboards.example.com/?client={{client_id}}: it "
            f"begins with https:// or http://, and may have {', '.join(f'{{{name}}}' for name in _NAMES)} "
            "behind the host"
        )
    return text


def client_link(links: Links | None, values: Mapping[str, str | None]) -> str | None:
    """The link to a client's dashboard. None without a template, if a value that it needs is missing, or if
    it would be too long.

    `values` has `client_id`, `principal`, `first_day` and `last_day`.
    """
    text = links["client"] if links else None
    if text is None or not _is_template(text):
        return None
    needed = [values[name] for name in _FIELD.findall(text)]
    if any(value is None or value in _ABOVE for value in needed):
        return None
    filled = _FIELD.sub(lambda found: quote(values[found[1]] or "", safe="", errors="replace"), text)
    return filled if len(filled) <= _MOST_CHARS else None


def relative(link: str | None) -> str | None:
    """The same link if it is a relative path; None for any other text."""
    is_path = link is not None and len(link) <= _MOST_CHARS and _RELATIVE.fullmatch(link)
    return link if is_path else None


def anchor(kind: str, *names: str | None) -> str:
    """The id of a place on the page, such as `topic-orders-6d1f…`: letters, digits and hyphens."""
    return f"{kind}-{slug(*names)}"


def page(kind: str, name: str | None) -> str:
    """The file name of the page of a team or a topic: `team-payments-6d1f….html`."""
    return f"{anchor(kind, name)}.html"


PAGES: Final = re.compile(r"(?:team|topic)-(?:[a-z0-9-]+-)?[0-9a-f]{16}\.html")
"""The names of all such files."""


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


def _is_template(text: str) -> bool:
    host = _HOST.match(text)
    if host is None or "{" in host[1] or any(name not in _NAMES for name in _FIELD.findall(text)):
        return False
    filled = _FIELD.sub("x", text)
    return _is_absolute(filled, "https", "http") and "{" not in filled and "}" not in filled


def _is_absolute(text: str, *schemes: str) -> bool:
    if len(text) > _MOST_CHARS or not _ADDRESS.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and text.startswith(f"{parts.scheme}://")
    except ValueError:  # such as a bracket in the host
        return False
