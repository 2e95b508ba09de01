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
    """The keys of each address (`counted_as`), oldest first."""

    __slots__ = ("_keys_of", "_largest")

    def __init__(self) -> None:
        self._keys_of: dict[str, list[K]] = {}
        self._largest = ""

    def add(self, key: K, address: str) -> None:
        self._keys_of.setdefault(address, []).append(key)

    def give_up_for(self, address: str) -> K | None:
        """Remove the newest key of the address with the most keys, in favour of `address`. None if `address`
        has about as many."""
        return self._give_up(self._number_of(address) + 1)

    def give_up(self) -> K | None:
        """Remove the newest key of the address with the most keys. None if there is no key."""
        return self._give_up(0)

    def _give_up(self, enough: int) -> K | None:
        if self._number_of(self._largest) <= enough:  # it has given up keys since it was the largest
            self._largest = max(self._keys_of, key=self._number_of, default="")
        if self._number_of(self._largest) <= enough:
            return None
        return self._keys_of[self._largest].pop()

    def _number_of(self, address: str) -> int:
        return len(self._keys_of.get(address, ()))
