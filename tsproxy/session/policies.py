"""The rules for each topic of one client, resolved once for each topic: `Policies`.

A `Policies` object is valid for one peer and one view. When either changes, a new one is made.
"""

from typing import Final

from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.view import View
from tsproxy.policy.resolve import resolve

NOBODY: Final = Peer("", "", 0)

MOST_KEPT: Final = 256
"""The maximum number of topics of one connection. If a client names more, all are resolved again."""
MOST_UNKNOWN: Final = 32
"""The maximum number of topics that perhaps do not exist: a client may name as many of these as it likes."""


class Policies:
    """A topic's policy is resolved at its first use, and again when its waiver has ended."""

    __slots__ = ("_kept", "_unknown", "peer", "view")

    def __init__(self, peer: Peer, view: View) -> None:
        self.peer = peer
        self.view = view
        self._kept: dict[str, TopicPolicy] = {}
        self._unknown = 0

    def __len__(self) -> int:
        """The number of policies that are kept."""
        return len(self._kept)

    def of(self, topic: str, now_ms: int) -> TopicPolicy:
        kept = self._kept.get(topic)
        if kept is not None and (kept.until_ms is None or now_ms < kept.until_ms):
            return kept
        view = self.view
        known, on_kafka_4 = view.topics.get(topic), view.topics_on_kafka_4.get(topic)
        found = resolve(view.policy, self.peer, topic, known, on_kafka_4, now_ms)
        if kept is None:
            if len(self._kept) >= MOST_KEPT or (known is None and self._unknown >= MOST_UNKNOWN):
                self._kept.clear()
                self._unknown = 0
            self._unknown += known is None
        self._kept[topic] = found
        return found


def of_anybody(view: View) -> Policies:
    """The policies of an unknown client: only rules that match any client fit."""
    return Policies(NOBODY, view)
