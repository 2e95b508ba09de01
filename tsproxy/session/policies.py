"""The rules for each topic of one client, resolved once for each topic: `Policies`.

A `Policies` object is valid for one peer and one view. When either changes, a new one is made.
"""

from collections.abc import Iterable
from typing import Final

from tsproxy.model.bounded import Ceiling, Owner
from tsproxy.model.kafka import is_topic_name
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.view import View
from tsproxy.policy.resolve import ClientPolicy

NOBODY: Final = Peer("", "", 0)

MAX_UNKNOWN: Final = 32
"""The maximum number of topics that perhaps do not exist: a client may name as many of these as it likes."""

A_POLICY: Final = 1 << 10
"""Bytes of one policy with its limits and its topic's name, which has at most 249 ASCII characters."""

KEPT: Final = Ceiling(
    f"topics with their policies; {MAX_UNKNOWN} that perhaps do not exist",
    most=256,
    most_bytes=256 * A_POLICY,
    when_full="the policy of the oldest is found again",
    owner=Owner.CONNECTION,
)


class Policies:
    """A topic's policy is resolved at its first use, and again when its waiver has ended.

    The policies are not `Bounded`, because each request looks for its topics here. All count alike.
    """

    __slots__ = ("_kept", "_of_client", "_unknown", "old_topics", "peer", "view")

    def __init__(self, peer: Peer, view: View, old_topics: frozenset[str] = frozenset()) -> None:
        self.old_topics = old_topics
        """Topics whose own limits reject nothing, since they are old."""
        self.peer = peer
        self.view = view
        self._of_client: ClientPolicy | None = None
        self._kept: dict[str, TopicPolicy] = {}
        self._unknown: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def held_bytes(self) -> int:
        return len(self._kept) * A_POLICY

    def of(self, topic: str, now_ms: int) -> TopicPolicy:
        """The policy for one topic. It may have to be found first (`steps_for`)."""
        kept = self.kept(topic, now_ms)
        if kept is not None:
            return kept
        view = self.view
        if self._of_client is None:
            self._of_client = ClientPolicy(view.policy, self.peer)
        known, on_kafka_4 = view.topics.get(topic), view.topics_on_kafka_4.get(topic)
        policy = self._of_client.resolve(topic, known, on_kafka_4, now_ms)
        if is_topic_name(topic):
            self._keep(topic, policy, is_known=known is not None)
        return policy

    def _keep(self, topic: str, policy: TopicPolicy, *, is_known: bool) -> None:
        if topic not in self._kept:
            if not is_known and len(self._unknown) >= MAX_UNKNOWN:
                self._forget(next(iter(self._unknown)))
            elif len(self._kept) >= KEPT.most:
                self._forget(next(iter(self._kept)))
            if not is_known:
                self._unknown[topic] = None
        self._kept[topic] = policy

    def _forget(self, topic: str) -> None:
        del self._kept[topic]
        self._unknown.pop(topic, None)

    def kept(self, topic: str, now_ms: int) -> TopicPolicy | None:
        """The policy for one topic, if it was found earlier and still holds; else None."""
        kept = self._kept.get(topic)
        return kept if kept is not None and (kept.until_ms is None or now_ms < kept.until_ms) else None

    def are_told(self, policy: TopicPolicy) -> bool:
        """True if this policy would be another one if brokers told other limits of the topic."""
        is_told = policy.is_known and policy.limits is not None and self.view.policy.asks_broker
        return is_told or policy.limits != policy.file_limits

    def steps_for(self, topics: Iterable[str], now_ms: int) -> int:
        """The most steps (`NamePattern.steps`) that it takes to find the policies for these topics."""
        policy = self.view.policy
        if not policy.client_steps:
            return 0  # neither rules nor waivers
        missing = sum(self.kept(topic, now_ms) is None for topic in topics)
        of_client = policy.client_steps if missing and self._of_client is None else 0
        return of_client + missing * policy.topic_steps


def of_anybody(view: View) -> Policies:
    """The policies of an unknown client: only rules that match any client fit."""
    return Policies(NOBODY, view)
