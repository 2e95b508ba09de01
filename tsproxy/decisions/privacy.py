"""Privacy of persons in the decision log: addresses and principals can be kept, hashed, or left out.

A hash is keyed by a secret salt (HMAC-SHA-256): there are so few addresses that anybody could find one by
hashing them all. The same salt gives the same hash, so that a client is still one client, in
every boot and every worker that shares the salt.
"""

import hmac
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tsproxy.decisions.text import bounded

HASH_MARK: Final = "~"
_HASH_DIGITS: Final = 16


class Redaction(StrEnum):
    """How a value that identifies a person is written: as it is, hashed, or not at all."""

    KEEP = "keep"
    HASH = "hash"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Privacy:
    """`salt` is used where something is hashed; it is a secret, and not empty then."""

    addresses: Redaction = Redaction.KEEP
    principals: Redaction = Redaction.KEEP
    salt: bytes = field(default=b"", repr=False)

    def address(self, address: str) -> str | None:
        """As it is, `~` and 16 hexadecimal digits, or None."""
        return self._shown("address", address, self.addresses)

    def principal(self, principal: str | None) -> str | None:
        """The same for a principal; None where there is none."""
        return None if principal is None else self._shown("principal", bounded(principal), self.principals)

    def _shown(self, kind: str, text: str, how: Redaction) -> str | None:
        match how:
            case Redaction.KEEP:
                return text
            case Redaction.HASH:
                digest = hmac.digest(self.salt, f"{kind}:{text}".encode(), "sha256")
                return HASH_MARK + digest.hex()[:_HASH_DIGITS]
            case Redaction.DROP:
                return None
