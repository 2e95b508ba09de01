"""The places for connections of the admin port: who may have one, and who must leave (`Places`).

There are few places, so that requests cost little together. If silent connections held them, no probe
would be answered, and a kubelet would restart the proxy with all its clients. So no address has more than its
share. If there is no place, the oldest connection leaves that only waits for its client: of the same address
if its share is full, else of the address with the most connections. A probe sends its request at once and
reads its answer at once, so it is never the oldest for long.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

MAX_CONNECTIONS: Final = 64
MAX_OF_AN_ADDRESS: Final = 16


class Place:
    """The place of one connection. `waits_for_client` is False while its page is made. `leave` ends the
    connection."""

    __slots__ = ("address", "leave", "waits_for_client")

    def __init__(self, address: str) -> None:
        self.address = address
        self.leave: Callable[[], object] = lambda: None
        self.waits_for_client = True


class Places:
    def __init__(self) -> None:
        self._taken: dict[Place, None] = {}
        """In the order in which they were taken."""
        self._by_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, address: str) -> Place | None:
        """A place for a new connection, or None if all connections that would have to leave get answers
        now."""
        if self._by_address[address] >= MAX_OF_AN_ADDRESS:
            may_go = self._send_away_oldest_of(address)
        elif len(self._taken) >= MAX_CONNECTIONS:
            may_go = any(self._send_away_oldest_of(other) for other, _ in self._by_address.most_common())
        else:
            may_go = True
        if not may_go:
            return None
        place = Place(address)
        self._taken[place] = None
        self._by_address[address] += 1
        return place

    def free(self, place: Place) -> None:
        """The connection has ended. It may have left before."""
        if place in self._taken:
            del self._taken[place]
            self._by_address[place.address] -= 1
            if not self._by_address[place.address]:
                del self._by_address[place.address]

    def _send_away_oldest_of(self, address: str) -> bool:
        """End the oldest connection of the address that waits for its client. False if there is none."""
        for place in self._taken:
            if place.address == address and place.waits_for_client:
                self.free(place)
                place.leave()
                return True
        return False
