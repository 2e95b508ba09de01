"""How long a client must wait after its batches were rejected here: `Throttle`.

If no broker receives a producer's batches, the brokers' quotas have no effect on this producer, and it may
try again as fast as it can. Each rejected batch adds A_BATCH_MS plus 1 ms per BYTES_A_MS to the client's
debt. The debt decreases by 1 ms per millisecond.

The debt beyond FREE_MS is sent to the client as `throttle_time_ms`, and the client is muted for that time, as
KIP-219 describes: first the answer is sent, then nothing is read. So a client with many rejected batches is
slowed down to the rate at which the debt decreases. A client that has a batch rejected now and then notices
nothing.

A debt belongs to a client, not to a connection: to a principal at an address (for IPv6, at a /64). A client
can choose another client id for each request, but not another principal or address. A rejection that comes
while the client should be muted, on another connection or pipelined, is delayed until the end of the mute.
"""

from typing import Final, NamedTuple

from tsproxy.model.addresses import counted_as
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.model.outcome import Peer

A_BATCH_MS: Final = 1.0
BYTES_A_MS: Final = 64 * 1024
FREE_MS: Final = 1_000.0

DEBTS: Final = Ceiling(
    "what clients owe for rejected batches, by address and principal",
    most=10_000,
    most_bytes=8 << 20,
    when_full="the client that was rejected least recently owes nothing",
    entry_bytes=A_PLACE + 120,
)


class _Debt(NamedTuple):
    owed_ms: float
    at_ms: int


class Throttle:
    """The debts of all clients of one process."""

    __slots__ = ("_debts",)

    def __init__(self) -> None:
        self._debts: Bounded[tuple[str, str | None], _Debt] = Bounded(DEBTS)
        """The least recently rejected client comes first."""

    def __len__(self) -> int:
        return len(self._debts)

    def mute_ms(self, peer: Peer, now_ms: int, most_ms: int) -> int:
        """How much longer the client should be muted, in milliseconds: 0 to `most_ms`."""
        return _beyond_free(self._owed_ms(peer, now_ms), most_ms)

    def rejected(self, peer: Peer, batches: int, size_bytes: int, now_ms: int, most_ms: int) -> int:
        """Add the cost of these rejected batches to the debt. Returns how long to mute the client, 0 to
        `most_ms`."""
        owed_ms = self._owed_ms(peer, now_ms) + batches * A_BATCH_MS + size_bytes / BYTES_A_MS
        owed_ms = min(owed_ms, FREE_MS + most_ms)
        self._debts.put(_client(peer), _Debt(owed_ms, now_ms))
        self._forget(now_ms)
        return _beyond_free(owed_ms, most_ms)

    def _owed_ms(self, peer: Peer, now_ms: int) -> float:
        debt = self._debts.get(_client(peer))
        return _left_ms(debt, now_ms) if debt is not None else 0.0

    def _forget(self, now_ms: int) -> None:
        """Remove clients from the beginning of `_debts` until the first one left has a debt."""
        while (oldest := self._debts.oldest) is not None and not _left_ms(oldest[1], now_ms):
            self._debts.pop(oldest[0])


def _client(peer: Peer) -> tuple[str, str | None]:
    return counted_as(peer.client_address), peer.principal


def _left_ms(debt: _Debt, now_ms: int) -> float:
    """The debt that is left. It does not decrease if the clock steps back."""
    return max(0.0, debt.owed_ms - max(0, now_ms - debt.at_ms))


def _beyond_free(owed_ms: float, most_ms: int) -> int:
    return min(most_ms, int(max(0.0, owed_ms - FREE_MS)))
