"""Privacy of addresses and principals in the decision log: they are kept, hashed, or dropped.

A hash is keyed by a secret salt (HMAC-SHA-256). There are few possible addresses, so an attacker could
reverse an unkeyed hash by trying them all. The same salt gives the same hash, so a client has the same hash
in every boot and every worker that shares the salt.
"""

import hmac
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tsproxy.decisions.text import bounded

HASH_MARK: Final = "~"
_HASH_DIGITS: Final = 16


class Redaction(StrEnum):
    """How personal data is written: unchanged, hashed, or not at all."""

    KEEP = "keep"
    HASH = "hash"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Privacy:
    """The privacy settings. `salt` is a secret. It must not be empty if anything is hashed."""

    addresses: Redaction = Redaction.KEEP
    principals: Redaction = Redaction.KEEP
    salt: bytes = field(default=b"", repr=False)

    def address(self, address: str) -> str | None:
        """The address unchanged, `~` and 16 hexadecimal digits, or None."""
        return self._shown("address", address, self.addresses)

    def principal(self, principal: str | None) -> str | None:
        """The same for a principal; None if there is none."""
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
