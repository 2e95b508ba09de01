"""`View`: everything that a session knows about the cluster and the configuration, as one frozen value.

The proxy builds a new view whenever a topic's limits, a broker or the configuration changes. Each session
gets the newest one before its next event. A session never requests anything by itself.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tsproxy.model.policy import NO_POLICY, Policy
from tsproxy.model.verdict import TopicLimits


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host and port in the form that clients get."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Limits of one connection (`limits` in the configuration). Sizes are in bytes."""

    produce_frame: int = 100 * 1024 * 1024
    other_frame: int = 8 * 1024 * 1024
    share_answer: int = 100 * 1024 * 1024
    in_flight_requests: int = 1000
    decompressed_batch: int = 256 * 1024 * 1024
    decompressed_request: int = 4 << 30
    """The limit for all batches of a request together. `records_per_request` limits the records of all these
    batches."""
    records_per_batch: int = 1_000_000
    records_per_request: int = 20_000_000
    culprits_listed: int = 10_000
    zstd_window: int = 8 * 1024 * 1024
    judging_time_ms: int = 10_000
    """CPU time of a thread for one request, or ten times the estimate of its work if that is more."""
    throttle_ms: int | None = 1_000
    """The longest throttle time of one answer (`limits.throttle`). None: clients are never throttled."""


@dataclass(frozen=True, slots=True)
class View:
    """Everything that a session knows about the cluster and the configuration.

    `topics` has the limits by topic name; topics whose limits are not known yet are absent.
    `topics_on_kafka_4` has the same limits as a 4.x broker would compute them. `endpoints` has the proxy's
    addresses by node id. If the proxy does not listen for a node, the node is absent: an answer that names
    this node waits for it, unless the node is in `unserved`, and then leaves it out. `brokers` has the nodes'
    real addresses, as far as the proxy knows them. No client gets these addresses.
    """

    endpoints: Mapping[int, Endpoint] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, TopicLimits] = field(default_factory=lambda: MappingProxyType({}))
    limits: SessionLimits = SessionLimits()
    policy: Policy = NO_POLICY
    unserved: frozenset[int] = frozenset()
    """The ids of nodes that the proxy has tried to serve and could not. Answers leave them out."""
    broker_needs_sasl: bool = False
    """True if nothing may be judged before the broker has authenticated the client."""
    bearer_claim: str = "sub"
    """The claim of OAUTHBEARER tokens from which the broker makes the principal."""
    brokers: Mapping[int, Endpoint] = field(default_factory=lambda: MappingProxyType({}))
    masks_addresses: bool = True
    """True if the addresses in a broker's configuration are hidden from clients."""
    topics_on_kafka_4: Mapping[str, TopicLimits] = field(default_factory=lambda: MappingProxyType({}))
    produce_versions: tuple[int, int] | None = None
    """The oldest and the newest version that any broker supports; None until the versions of every broker are
    known."""
    topic_names: Mapping[bytes, str] = field(default_factory=lambda: MappingProxyType({}))
    """Topic id -> name, as far as the names are known."""
    may_describe: bool = True
    """False if the proxy's user may not describe every topic: then clients are offered Produce 12."""
    reads_limits: bool = False
    """True if limits come for each topic that is wanted: then the first request to a topic waits for them."""
    unreadable_topics: frozenset[str] = frozenset()
    """Topics whose limits will not come: the proxy may not read them, or does not understand them."""
    denied_ids: frozenset[bytes] = frozenset()
    """The ids of topics that the proxy's user may not describe, as far as clients have named them."""


class Unchanged:
    """The things that verdicts depend on and that two views have in common.

    All sessions of a listener ask for their topics, so each topic is compared once. Thousands of sessions may
    have hundreds of topics, so C code looks for these among the compared ones. Rules and limits of
    connections are compared as objects: whoever makes a view keeps the object if nothing in it has changed.
    """

    __slots__ = ("_changed", "_now", "_same", "before")

    def __init__(self, before: View, now: View) -> None:
        self.before = before
        self._now = now
        self._changed: set[str] = set()
        self._same: set[str] = set()

    @property
    def has_rules(self) -> bool:
        """True if the policy and the limits of connections are the same."""
        return self._now.policy is self.before.policy and self._now.limits is self.before.limits

    def has_limits_of(self, topics: Collection[str]) -> bool:
        """True if the limits of all these topics are the same."""
        if self._same.issuperset(topics):
            return True
        if self._changed.isdisjoint(topics):
            for topic in {*topics} - self._same:
                (self._same if self._is_same(topic) else self._changed).add(topic)
        return self._changed.isdisjoint(topics)

    def _is_same(self, topic: str) -> bool:
        now, before = self._now, self.before
        pairs = (now.topics, before.topics), (now.topics_on_kafka_4, before.topics_on_kafka_4)
        return all(after.get(topic) == was.get(topic) for after, was in pairs)
