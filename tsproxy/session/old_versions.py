"""Notes who uses versions that Kafka 4 does not take (KIP-896)."""

from typing import Final

from tsproxy.wire.apis import is_refused_by_kafka_4
from tsproxy.wire.headers import RequestHeader

AGAIN_MS: Final = 60_000
MAX_NOTED: Final = 32
"""So many different requests of one connection are noted within AGAIN_MS. A client uses some ten APIs."""


class OldVersions:
    """The old requests of one connection. Each client id, API and version is noted once in AGAIN_MS."""

    __slots__ = ("_noted", "_until_ms")

    def __init__(self) -> None:
        self._noted: set[int] = set()
        """Hashes: a client id may have 32 KiB, and nobody counts what is kept here."""
        self._until_ms = 0

    def must_note(self, header: RequestHeader, now_ms: int) -> bool:
        """True if Kafka 4 does not take the request, and the like of it was not noted lately. It counts as
        noted from now on."""
        if not is_refused_by_kafka_4(header.api_key, header.api_version):
            return False
        if not self._until_ms - AGAIN_MS <= now_ms < self._until_ms:
            self._noted.clear()
            self._until_ms = now_ms + AGAIN_MS
        use = hash((header.client_id, header.api_key, header.api_version))
        if use in self._noted or len(self._noted) >= MAX_NOTED:
            return False
        self._noted.add(use)
        return True
