"""Makes text that a client chose safe for one line of the log.

A client id, a topic or a broker's message may be 32 KB long, contain control characters, or come from
bytes that are not UTF-8. In the log they are printable, valid UTF-8 and at most a few hundred characters
long. A hash replaces the rest of a long name, so that two long names stay different.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from tsproxy.model.names import NAME_CHARS, digest_of

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_INSTANT_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z, the last instant with a four-digit year in ISO 8601."""


def bounded(text: str, max_chars: int = NAME_CHARS) -> str:
    r"""`text` with everything unprintable escaped (`\x1b`, `\udc80`), cut to `max_chars`.

    A text that was cut ends in an ellipsis and 12 hexadecimal digits of the whole text's SHA-256.
    """
    if len(text) <= max_chars and text.isprintable():
        return text
    # Escaping never makes text shorter, so characters beyond `max_chars` are not needed.
    escaped = "\\".join(map(_escaped, text[:max_chars].split("\\")))
    if len(text) <= max_chars and len(escaped) <= max_chars:
        return escaped
    return f"{escaped[:max_chars]}…{digest_of(text)}"


def _escaped(text: str) -> str:
    """`text`, which has no backslash, as `repr` prints it: in C, since a client id is escaped for each batch.

    With the quotation mark at the end, `repr` begins with an apostrophe and escapes each other one.
    """
    return repr(text + '"')[1:-2].replace("\\'", "'")


def bounded_or_none(text: str | None) -> str | None:
    """`bounded`, and None for None (client id, principal and software are nullable in Kafka)."""
    return None if text is None else bounded(text)


def instant(time_ms: int) -> str:
    """Text such as `2026-11-20T10:00:00.086Z`, in UTC. It has a fixed width, so it sorts as text, and `[:10]`
    is its day.

    The time is clamped to the years 1970 to 9999. Only the proxy's own clock is written in this form, and
    never a record's timestamp.
    """
    clamped = max(0, min(time_ms, _LAST_INSTANT_MS))
    moment = _EPOCH + timedelta(milliseconds=clamped)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{clamped % 1000:03d}Z"
