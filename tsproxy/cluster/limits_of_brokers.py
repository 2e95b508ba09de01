"""The limits of topics that set no limits themselves, if brokers may differ. Pure.

A topic's description holds the values of the broker that answers, unless the topic sets its own. Each leader
judges by its own values. In the middle of a roll from 3.9 to 4.x, or if one broker has its own
`log.message.timestamp.*`, one leader accepts a record that another one rejects. The leader may change at any
time, and a client may send to the wrong one. So the loosest limits of all brokers are in force here, and
leaders reject the rest themselves (`LogConfig.java`, `ConfigHelper.java#describeConfigs`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tsproxy.cluster.admin_connection import TopicAnswer
from tsproxy.cluster.topic_limits import (
    AFTER,
    ANY_RECORD_SIZE,
    BEFORE,
    CLEANUP_POLICY,
    COMPRESSION_TYPE,
    CONFIG_NAMES,
    DIFFERENCE,
    MAX_DECOMPRESSED_MESSAGE_BYTES,
    MAX_MESSAGE_BYTES,
    TIMESTAMP_TYPE,
    as_kafka_4,
    topic_limits,
)
from tsproxy.config.values import bound_text
from tsproxy.model.kafka import INT_MAX, TimestampType
from tsproxy.model.policy import TimeLimit
from tsproxy.model.verdict import TopicLimits

Overrides = tuple[tuple[str, str | None], ...]
"""The settings of a topic itself, (name, value) sorted by name. Topics with the same settings share their
limits."""


@dataclass(frozen=True, slots=True)
class Given:
    """The values that one broker gives to topics. `values` are by configuration name. `defaults` are the
    names that are not set on the broker either. `known` are all names that the broker supports."""

    values: Mapping[str, str | None]
    defaults: frozenset[str]
    known: frozenset[str]


_LOOSEST: Final = Given(
    {MAX_MESSAGE_BYTES: str(INT_MAX)},
    frozenset(),
    frozenset(CONFIG_NAMES) - {DIFFERENCE, MAX_DECOMPRESSED_MESSAGE_BYTES},
)
"""A broker with unknown values. It may be a 4.x broker, which does not support `difference`, or one before
4.4, which does not limit the size of a decompressed record."""


@dataclass(frozen=True, slots=True)
class Together:
    """The limits in force for topics with the same settings. `of_nodes` are the limits of each broker that
    has answered."""

    limits: TopicLimits
    on_kafka_4: TopicLimits
    of_nodes: Mapping[int, TopicLimits]


def overrides_of(answer: TopicAnswer) -> Overrides:
    return tuple(sorted((name, value) for name, value in answer.settings.items() if name in answer.overrides))


def given_by(answers: Iterable[TopicAnswer]) -> Given | None:
    """The values of the broker that answered, as far as these topics show them; None if they show nothing."""
    values: dict[str, str | None] = {}
    known: set[str] = set()
    defaults: set[str] = set()
    for answer in answers:
        # 4.0 to 4.2 do not know it, but show it without its value if a topic still has it (KAFKA-19851).
        known |= {name for name, value in answer.settings.items() if (name, value) != (DIFFERENCE, None)}
        values |= {name: value for name, value in answer.settings.items() if name not in answer.overrides}
        defaults |= answer.defaults
    return Given(values, frozenset(defaults), frozenset(known)) if known else None


def examples(topics: Iterable[tuple[str, Overrides]]) -> tuple[str, ...]:
    """A few topics whose descriptions show all broker values that apply to any of `topics`. Earlier ones are
    preferred."""
    first: dict[Overrides, str] = {}
    for topic, overrides in topics:
        first.setdefault(overrides, topic)
    missing, chosen = set(CONFIG_NAMES), []
    for overrides, topic in sorted(first.items(), key=lambda pair: len(pair[0])):
        shown = missing - {name for name, _ in overrides}
        if shown:
            chosen.append(topic)
            missing -= shown
    return tuple(chosen)


def together(overrides: Overrides, described: Given, brokers: Mapping[int, Given | None]) -> Together:
    """The limits in force for a topic that sets `overrides`. `brokers` has the values by node id, None for a
    broker without an answer. `described` has the values of the broker that described the topic, whichever
    broker that is. They are used if no broker has answered.

    If a broker has not answered, there are no bounds, no sizes and no other reason to reject a record.
    `on_kafka_4` stays, since it is an operator's own rule, and no leader would enforce it for us. Raises
    ValueError if Kafka's documentation does not allow a value.
    """
    known = {
        node: given for node, given in brokers.items() if given is not None and _shows_all(overrides, given)
    }
    of_nodes = {node_id: topic_limits(_at(overrides, given)) for node_id, given in known.items()}
    known_limits = [*of_nodes.values()] or [topic_limits(_at(overrides, described))]
    on_kafka_4 = loosest(
        [_on_kafka_4(overrides, given) for given in known.values()] or [_on_kafka_4(overrides, described)]
    )
    limits = loosest(known_limits)
    if len(known) < len(brokers):
        anywhere = replace(topic_limits(_at(overrides, _LOOSEST)), timestamp_type=limits.timestamp_type)
        limits = loosest([limits, anywhere])
    return Together(limits, on_kafka_4, of_nodes)


def loosest(many: Sequence[TopicLimits]) -> TopicLimits:
    """Limits that reject no record which any of `many` allows.

    If only some brokers write their own time (LogAppendTime), no timestamp is out of range, since these
    brokers would store the record; the other brokers may reject it. The topic still counts as CreateTime,
    since an operator's rules apply to records that the other brokers store.
    """
    first = many[0]
    if all(limits == first for limits in many):
        return first
    is_stamped = {limits.timestamp_type is TimestampType.LOG_APPEND_TIME for limits in many}
    return TopicLimits(
        timestamp_type=TimestampType.CREATE_TIME if False in is_stamped else TimestampType.LOG_APPEND_TIME,
        before_max_ms=None if True in is_stamped else _widest([limits.before_max_ms for limits in many]),
        after_max_ms=None if True in is_stamped else _widest([limits.after_max_ms for limits in many]),
        max_message_bytes=max(limits.max_message_bytes for limits in many),
        is_compacted=all(limits.is_compacted for limits in many),
        # A broker that keeps the producer's codec reads less of a batch, and so rejects less.
        codec=first.codec if all(limits.codec == first.codec for limits in many) else None,
        max_decompressed_message_bytes=_widest([limits.max_decompressed_message_bytes for limits in many]),
    )


def differences(in_force: Together) -> Iterator[tuple[str, Mapping[int, str]]]:
    """The settings on which brokers differ, each with its values by node id."""
    for key, field, text in _SHOWN:
        by_node = {
            node_id: text(getattr(limits, field)) for node_id, limits in sorted(in_force.of_nodes.items())
        }
        if len(set(by_node.values())) > 1:
            yield key, by_node


def changes(old: TopicLimits, new: TopicLimits) -> tuple[dict[str, str], dict[str, str]] | None:
    """The settings that differ, as in the old limits and as in the new ones; None if none does."""
    rows = [(key, text(getattr(old, field)), text(getattr(new, field))) for key, field, text in _SHOWN]
    differing = [row for row in rows if row[1] != row[2]]
    if not differing:
        return None
    return {key: was for key, was, _ in differing}, {key: now for key, _, now in differing}


_SHOWN: Final = (
    (TIMESTAMP_TYPE, "timestamp_type", lambda of: of.name),
    (BEFORE, "before_max_ms", lambda of: bound_text(TimeLimit(of))),
    (AFTER, "after_max_ms", lambda of: bound_text(TimeLimit(of))),
    (MAX_MESSAGE_BYTES, "max_message_bytes", str),
    (CLEANUP_POLICY, "is_compacted", lambda of: "compact" if of else "delete"),
    (COMPRESSION_TYPE, "codec", lambda of: "producer" if of is None else of.name.lower()),
    (
        MAX_DECOMPRESSED_MESSAGE_BYTES,
        "max_decompressed_message_bytes",
        lambda of: "unlimited" if of in (None, ANY_RECORD_SIZE) else str(of),
    ),
)


def _shows_all(overrides: Overrides, given: Given) -> bool:
    """True if every value that the topic does not set itself is known. A value is unknown if the broker has
    only described topics that set this value themselves."""
    return given.known <= given.values.keys() | {name for name, _ in overrides}


def _at(overrides: Overrides, given: Given) -> dict[str, str | None]:
    """The description that the broker would give of a topic that sets `overrides`. A broker ignores names
    that it does not support."""
    return {**given.values, **{name: value for name, value in overrides if name in given.known}}


def _on_kafka_4(overrides: Overrides, given: Given) -> TopicLimits:
    return topic_limits(as_kafka_4(_at(overrides, given), given.defaults - {name for name, _ in overrides}))


def _widest(bounds: Sequence[int | None]) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) else None
