"""Text that a client chose, made fit for one line of the log.

A client id, a topic or a broker's message may be 32 KB long, hold control characters, or come from
bytes that are not UTF-8. In the log they are printable, valid UTF-8 and at most a few hundred
characters; what is cut off is told apart by a hash, so two long names stay two names.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

NAME_CHARS: Final = 249
"""The longest legal topic name (`Topic.java`), taken for every name."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_INSTANT_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: beyond it ISO 8601 has no four-digit year."""


def bounded(text: str, max_chars: int = NAME_CHARS) -> str:
    r"""`text` with everything unprintable escaped (`\x1b`, `\udc80`), cut to `max_chars`.

    A cut text ends in an ellipsis and 12 hexadecimal digits of the whole text's SHA-256.
    """
    if len(text) <= max_chars and text.isprintable():
        return text
    # Escaping makes text longer, never shorter: what lies past `max_chars` need not be looked at.
    escaped = "".join(c if c.isprintable() else _escape(c) for c in text[:max_chars])
    if len(text) <= max_chars and len(escaped) <= max_chars:
        return escaped
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{escaped[:max_chars]}…{digest[:12]}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def bounded_or_none(text: str | None) -> str | None:
    """`bounded`, or None for None (Kafka's client id, principal and software are nullable)."""
    return None if text is None else bounded(text)


def instant(time_ms: int) -> str:
    """`2026-11-20T10:00:00.086Z`: fixed width, UTC, so that it sorts as text and `[:10]` is its day.

    Clamped to the years 1970 to 9999; only a proxy's own clock is written so, never a record's time.
    """
    clamped = max(0, min(time_ms, _LAST_INSTANT_MS))
    moment = _EPOCH + timedelta(milliseconds=clamped)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{clamped % 1000:03d}Z"
