"""Names that clients choose, and how much is kept of them: `kept_name`.

Kafka allows a client id, a library's name or a transactional id of 32,767 bytes, which are up to 128 KiB of
memory. None is kept whole. A hash replaces the rest of a long name, so that two long names stay different,
and no long name becomes a short name of somebody else.
"""

from hashlib import sha256
from typing import Final

NAME_CHARS: Final = 249
"""The longest legal topic name (`Topic.java`). The same limit is used for all names."""

_DIGEST_CHARS: Final = 12


class CutName(str):
    """A name of which only the beginning is kept: NAME_CHARS characters, an ellipsis, and 12 hexadecimal
    digits of the whole name's SHA-256. It is longer than NAME_CHARS, so it equals no name that is whole."""

    __slots__ = ()

    @property
    def digest(self) -> str:
        return self[-_DIGEST_CHARS:]


def kept_name(name: str) -> str:
    """The name, or a CutName of a name that is longer than NAME_CHARS."""
    if len(name) <= NAME_CHARS:
        return name
    return CutName(f"{name[:NAME_CHARS]}…{digest_of(name)}")


def digest_of(name: str) -> str:
    """12 hexadecimal digits of the SHA-256 of the whole name, also if only a part of it is kept."""
    if isinstance(name, CutName):
        return name.digest
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
