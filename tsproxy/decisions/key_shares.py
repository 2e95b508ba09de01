"""The keys of the ledger, shared out among the addresses of clients: `KeyShares`.

A client chooses its client id and its topics, so one client may bring a new key with each batch. While there
is room, each key is kept, whoever brings it. If there is none, the address with the most keys gives one up
to an address with fewer. So the addresses share the keys evenly, and an address that brings few keys keeps
all of them.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class KeyShares(Generic[K]):
    """The keys of each address (`counted_as`), oldest first. Together they are at most `most`."""

    __slots__ = ("_count", "_keys_of", "_largest", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._count = 0
        self._keys_of: dict[str, list[K]] = {}
        self._largest = ""

    def __len__(self) -> int:
        return self._count

    def add(self, key: K, address: str) -> bool:
        """Keep a new key, if there is room. If not, `give_up` may make room."""
        if self._count >= self.most:
            return False
        self._keys_of.setdefault(address, []).append(key)
        self._count += 1
        return True

    def give_up(self, address: str) -> K | None:
        """Remove the newest key of the address with the most keys. None if `address` has about as many."""
        enough = self._number_of(address) + 1
        if self._number_of(self._largest) <= enough:  # it has given up keys since it was the largest
            self._largest = max(self._keys_of, key=self._number_of, default="")
        if self._number_of(self._largest) <= enough:
            return None
        self._count -= 1
        return self._keys_of[self._largest].pop()

    def _number_of(self, address: str) -> int:
        return len(self._keys_of.get(address, ()))
