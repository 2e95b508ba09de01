"""What a session knows of the world around it: one frozen snapshot, replaced as a whole.

The shell builds a new one whenever a topic's limits, a broker or the configuration changes, and
hands it to every session; a session never asks for anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tsproxy.model.policy import NO_POLICY, Policy
from tsproxy.model.verdict import TopicLimits


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host and port as clients are told them."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Bounds of one connection; sizes in bytes (`limits:` of the configuration)."""

    produce_frame: int = 100 * 1024 * 1024
    other_frame: int = 8 * 1024 * 1024
    share_answer: int = 100 * 1024 * 1024
    in_flight_requests: int = 1000
    decompressed_batch: int = 256 * 1024 * 1024
    decompressed_request: int = 4 << 30
    """Of all its batches together, as is the next for their records."""
    records_per_batch: int = 1_000_000
    records_per_request: int = 20_000_000
    culprits_listed: int = 10_000
    zstd_window: int = 8 * 1024 * 1024
    throttle_ms: int | None = 1_000
    """None where nobody is kept waiting."""


@dataclass(frozen=True, slots=True)
class View:
    """`topics`: limits by topic name, absent where not known yet; `topics_on_kafka_4` the same as a 4.x
    broker would compute them. `endpoints`: by node id, absent where the proxy does not listen for that
    node (an answer that names it waits, and fails closed). `brokers`: where nodes are, as far as the
    proxy knows; no client is told."""

    endpoints: Mapping[int, Endpoint] = field(default_factory=lambda: MappingProxyType({}))
    topics: Mapping[str, TopicLimits] = field(default_factory=lambda: MappingProxyType({}))
    limits: SessionLimits = SessionLimits()
    policy: Policy = NO_POLICY
    broker_needs_sasl: bool = False
    """True where nothing may be judged before the broker has accepted the peer."""
    bearer_claim: str = "sub"
    """Of OAUTHBEARER tokens: what the broker makes the principal of."""
    brokers: Mapping[int, Endpoint] = field(default_factory=lambda: MappingProxyType({}))
    masks_addresses: bool = True
    """True where clients are not told the addresses among a broker's configuration."""
    topics_on_kafka_4: Mapping[str, TopicLimits] = field(default_factory=lambda: MappingProxyType({}))
    produce_versions: tuple[int, int] | None = None
    """The oldest and the newest that any broker takes; None while that is not known of each of them."""
