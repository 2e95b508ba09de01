"""The facts about the cluster that a running proxy publishes: `ClusterFacts`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tsproxy.model.addresses import Address
from tsproxy.model.verdict import TopicLimits


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """All facts at one time. `topics`: limits of the topics in use. `topics_on_kafka_4`: the same limits as a
    4.x broker would compute them. `topic_names`: the names of topics by id.
    `may_describe` and `denied_ids` say which names can be read. `reads_limits`: limits come for each topic
    that is wanted, if the policy in force asks for them."""

    cluster_id: str | None = None
    brokers: Mapping[int, Address] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, TopicLimits] = field(default_factory=lambda: MappingProxyType({}))
    needs_sasl: bool = False
    topics_on_kafka_4: Mapping[str, TopicLimits] = field(default_factory=lambda: MappingProxyType({}))
    topic_names: Mapping[bytes, str] = field(default_factory=lambda: MappingProxyType({}))
    reads_limits: bool = False
    unreadable_topics: frozenset[str] = frozenset()
    may_describe: bool = True
    denied_ids: frozenset[bytes] = frozenset()
