"""What each topic of one client is judged by, found out once a topic: `Policies`.

They hold for one peer and one view; when either changes, new ones are made.
"""

from typing import Final

from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.view import View
from tsproxy.policy.resolve import resolve

NOBODY: Final = Peer("", "", 0)

MOST_KEPT: Final = 1_000
"""Topics of one connection; a client that names more has them looked up again."""


class Policies:
    """Resolved when a topic is first asked for, and again when its waiver has ended."""

    __slots__ = ("_kept", "peer", "view")

    def __init__(self, peer: Peer, view: View) -> None:
        self.peer = peer
        self.view = view
        self._kept: dict[str, TopicPolicy] = {}

    def of(self, topic: str, now_ms: int) -> TopicPolicy:
        kept = self._kept.get(topic)
        if kept is not None and (kept.until_ms is None or now_ms < kept.until_ms):
            return kept
        view = self.view
        known, on_kafka_4 = view.topics.get(topic), view.topics_on_kafka_4.get(topic)
        found = resolve(view.policy, self.peer, topic, known, on_kafka_4, now_ms)
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[topic] = found
        return found


def of_anybody(view: View) -> Policies:
    """Where it is not known who asks: only rules that ask for nobody in particular fit."""
    return Policies(NOBODY, view)
