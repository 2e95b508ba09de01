"""The clients that may write to a topic, as brokers' answers have shown lately: `Proven`.

The proxy judges a batch before a broker checks the client's rights, and writes dead letters with its own. So
it copies records only for a principal and a topic for which a broker has accepted a batch lately. Each worker
learns by itself what its own connections see.
"""

from collections import Counter
from typing import Final

from tsproxy.decisions.totals import Totals
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import Outcome, Peer, VerdictName

LATELY_MS: Final = 24 * 3_600_000
"""How long a proof holds. A client that has lost its right is noticed at its next good batch, or after this
time."""
_REFRESH_MS: Final = 60_000
"""A proof is renewed at most this often, so that most batches cost one look."""
MAX_OF_PRINCIPAL: Final = 5_000
"""The most topics of a principal, so that it cannot push out all others. Further ones are not proven."""
PROVEN: Final = Ceiling(
    "principals and topics for which a broker has accepted a batch lately",
    most=20_000,
    most_bytes=8 << 20,
    when_full="the oldest pair has no dead letters until a broker accepts its next batch",
    entry_bytes=2 * A_PLACE + 32,  # the time, and the principal's place in `_topics_of`
)
_ANONYMOUS: Final = "User:ANONYMOUS"
_STORED: Final = frozenset({VerdictName.ACCEPTED, VerdictName.REPAIRED})


class Proven:
    """The proofs of one process. `has_login`: brokers require SASL."""

    def __init__(self, *, has_login: bool) -> None:
        self._has_login = has_login
        self._kept = Bounded[tuple[str, str], int](PROVEN)
        """When the latest proof was seen (monotonic ms). The oldest one comes first."""
        self._topics_of = Counter[str]()
        """By principal: how many of its topics are kept."""

    def __len__(self) -> int:
        return len(self._kept)

    def booked(self, booked: Outcome | Totals, now_ms: int) -> None:
        """A broker's answer was booked: it proves the right to write, or takes the proof back."""
        how = booked.key if isinstance(booked, Totals) else booked
        principal = self._principal(booked.peer)
        if principal is None:
            return
        if how.verdict in _STORED:
            self._prove((principal, booked.topic), now_ms)
        elif how.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._drop((principal, booked.topic))

    def holds(self, peer: Peer, topic: str, now_ms: int) -> bool:
        """True if a broker has lately accepted a batch for this topic from the peer's principal."""
        principal = self._principal(peer)
        proven_ms = None if principal is None else self._kept.get((principal, topic))
        return proven_ms is not None and now_ms < proven_ms + LATELY_MS

    def _principal(self, peer: Peer) -> str | None:
        """The principal as brokers see it. None if there is a login that does not show the name (GSSAPI): two
        such clients cannot be told apart."""
        return peer.principal or (None if self._has_login else _ANONYMOUS)

    def _prove(self, pair: tuple[str, str], now_ms: int) -> None:
        known_ms = self._kept.get(pair)
        if known_ms is not None and now_ms < known_ms + _REFRESH_MS:
            return
        while (oldest := self._kept.oldest) is not None and now_ms >= oldest[1] + LATELY_MS:
            self._drop(oldest[0])
        if pair not in self._kept:
            if self._topics_of[pair[0]] >= MAX_OF_PRINCIPAL:
                return
            self._topics_of[pair[0]] += 1
        for dropped, _ in self._kept.put(pair, now_ms):
            self._forget(dropped)

    def _drop(self, pair: tuple[str, str]) -> None:
        if self._kept.pop(pair) is not None:
            self._forget(pair)

    def _forget(self, pair: tuple[str, str]) -> None:
        self._topics_of[pair[0]] -= 1
        if not self._topics_of[pair[0]]:
            del self._topics_of[pair[0]]
