"""Exact counts of all outcomes, by client, topic and outcome.

`book` adds totals. `take` returns the tally of each key and starts again from zero. `counters` makes
the event of one key. The sum over all events is the sum over all booked outcomes. The number of keys is
bounded, and so is their memory (`KEYS`). Both are shared out by address (`KeyShares`). Beyond the bound,
the client and the topic of a batch are folded into `other` (with `folded` true). The outcome is kept, so
totals by verdict and reason stay exact however many names clients use.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from sys import getsizeof
from typing import Final, Generic, TypeVar

from tsproxy.decisions.drift import HISTOGRAM_NAME, written_ms
from tsproxy.decisions.events import Event, fit
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.text import instant
from tsproxy.decisions.totals import Histogram, Key, Sums, Totals, batches_and_records
from tsproxy.model.addresses import counted_as
from tsproxy.model.bounded import A_PLACE, Ceiling, Room

K = TypeVar("K", bound=Hashable)


OTHER: Final = "other"
KEYS: Final = Ceiling(
    "the keys of an interval by topic, client id and principal, with their counts and histograms",
    most=5_000,
    most_bytes=48 << 20,
    when_full="the address with the most keys gives up one; its batches are counted as `other`",
    entry_bytes=A_PLACE + 2_800,
)
_A_BAR: Final = 128
"""The memory of one bucket of a histogram."""
ADDRESSES_LISTED: Final = 8


def folded(key: Key) -> Key:
    """The key that replaces `key` when there are too many keys."""
    return key._replace(topic=OTHER, client_id=OTHER, principal=None, folded=True)


@dataclass(slots=True, kw_only=True)
class Tally(Sums):
    """The counts of one key over one interval."""

    requests: int = 0
    addresses: set[str] = field(default_factory=set)
    addresses_truncated: bool | None = None
    held_bytes: int = 0
    """As the ledger counts this tally."""
    _last_request: object = None

    @property
    def bars(self) -> int:
        return len(self.ahead) + len(self.behind)

    def add(self, totals: Totals) -> None:
        """Count these batches. A request is counted once: its outcomes are booked in a row, so it is enough
        to know the last one."""
        self.add_up(totals)
        if totals.example is not None:
            if totals.example.request is self._last_request:
                return
            self._last_request = totals.example.request
        self.requests += totals.requests
        self._add_address(totals.peer.client_address)

    def merge(self, other: "Tally") -> None:
        self.add_up(other)
        self.requests += other.requests
        for address in sorted(other.addresses):
            self._add_address(address)
        self.addresses_truncated = self.addresses_truncated or other.addresses_truncated

    def _add_address(self, address: str) -> None:
        if address in self.addresses:
            return
        if len(self.addresses) < ADDRESSES_LISTED:
            self.addresses.add(address)
        else:
            self.addresses_truncated = True

    def facts(self, privacy: Privacy) -> dict[str, object]:
        """The fields of the `counters` event that come from this tally."""
        return {
            "batches": self.batches,
            "records": self.records,
            "bad_records": self.bad_records,
            "collateral_records": self.collateral_records,
            "bytes": self.bytes,
            "requests": self.requests,
            "records_unread": self.records_unread or None,
            "records_limits_unknown": self.records_limits_unknown or None,
            "first_ts": instant(self.first_ms),
            "last_ts": instant(self.last_ms),
            "drift_min_ms": written_ms(self.drift_min_ms),
            "drift_max_ms": written_ms(self.drift_max_ms),
            "addresses": sorted(filter(None, map(privacy.address, self.addresses))),
            "addresses_truncated": self.addresses_truncated,
            "hist": HISTOGRAM_NAME,
            "ahead": _rows(self.ahead),
            "behind": _rows(self.behind),
        }


def _rows(histogram: Histogram) -> list[list[int]]:
    return [[index, *batches_and_records(histogram[index])] for index in sorted(histogram)]


def _empty(first: Sums, held_bytes: int = 0) -> Tally:
    """A tally whose first batches are those of `first`. It does not count them yet."""
    return Tally(first_ms=first.first_ms, last_ms=first.last_ms, held_bytes=held_bytes)


def _bytes_of_names(key: Key) -> int:
    return getsizeof(key.topic) + getsizeof(key.client_id) + getsizeof(key.principal)


class Ledger:
    """Counts batches under at most `max_keys` keys an interval, and further ones under folded keys."""

    def __init__(self, max_keys: int = KEYS.most) -> None:
        self._room = Room(replace(KEYS, most=max_keys))
        self._shares = KeyShares[Key]()
        self._tallies: dict[Key, Tally] = {}
        self._folded: dict[Key, Tally] = {}
        self.batches_folded = 0
        """Number of batches of the interval whose names were folded into `other`."""

    @property
    def held_bytes(self) -> int:
        """The memory of the keys of this interval, without the folded ones."""
        return self._room.held_bytes

    def book(self, totals: Totals) -> Key:
        """Count these batches. Returns the key that they are counted under."""
        key, tally = self._tally(totals)
        bars = tally.bars
        tally.add(totals)
        return key if tally.bars == bars else self._grown(key, tally, tally.bars - bars)

    def _tally(self, totals: Totals) -> tuple[Key, Tally]:
        """The key under which these batches are counted, and its tally."""
        key = totals.key
        tally = self._tallies.get(key)
        if tally is not None:
            return key, tally
        address, size = counted_as(totals.peer.client_address), _bytes_of_names(key) + KEYS.entry_bytes
        if not self._room.takes(size) and (given_up := self._shares.give_up_for(address)):
            self._fold(given_up)
        if self._room.takes(size):
            self._room.add(size)
            self._shares.add(key, address)
            tally = self._tallies[key] = _empty(totals, size)
            return key, tally
        self.batches_folded += totals.batches
        key = folded(key)
        return key, self._folded.setdefault(key, _empty(totals))

    def _grown(self, key: Key, tally: Tally, bars: int) -> Key:
        """Count so many new buckets. If there is no room for them, keys are given up, perhaps this one.
        Returns the key that its batches are counted under now."""
        if key.folded:
            return key
        tally.held_bytes += bars * _A_BAR
        self._room.held_bytes += bars * _A_BAR
        while self._room.is_over and (given_up := self._shares.give_up()):
            self._fold(given_up)
        return key if key in self._tallies else folded(key)

    def _fold(self, key: Key) -> None:
        tally = self._tallies.pop(key)
        self._room.remove(tally.held_bytes)
        self.batches_folded += tally.batches
        self._folded.setdefault(folded(key), _empty(tally)).merge(tally)

    def take(self) -> list[tuple[Key, Tally]]:
        """Return all tallies, folded ones last, and empty the ledger."""
        taken = [*self._tallies.items(), *self._folded.items()]
        self._tallies, self._folded, self._shares = {}, {}, KeyShares()
        self._room.clear()
        self.batches_folded = 0
        return taken


def counters(key: Key, tally: Tally, interval: Mapping[str, object], privacy: Privacy) -> Event:
    """The `counters` event of one key. `interval` has the start and the length of the interval."""
    shown = {"principal": privacy.principal(key.principal)}
    return fit({**key._asdict(), **shown, **interval, **tally.facts(privacy)})


class KeyShares(Generic[K]):
    """The keys of each address (`counted_as`), oldest first.

    A client chooses its client id and its topics, so one client may bring a new key with each batch. While
    there is room, each key is kept, whoever brings it. If there is none, the address with the most keys gives
    one up to an address with fewer. So the addresses share the keys evenly, and an address that brings few
    keys keeps all of them.
    """

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
