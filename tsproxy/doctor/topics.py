"""Findings about topics with limits that users may not expect: by themselves, and compared with this proxy's
policy."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Final

from tsproxy.cluster.admin_connection import AdminConnection, ConversationError, TopicAnswer
from tsproxy.cluster.limits_of_brokers import (
    Given,
    Together,
    differences,
    examples,
    given_by,
    overrides_of,
    together,
)
from tsproxy.cluster.topic_limits import AFTER, BEFORE, DIFFERENCE
from tsproxy.config.patterns import regex_advice
from tsproxy.config.settings import Config
from tsproxy.config.values import bound_text
from tsproxy.doctor.cluster import Node
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.doctor.permissions import Rights
from tsproxy.model.kafka import LONG_MAX, ErrorCode, TimestampType
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import Mode, Policy, Rule, TimeLimit, Waiver
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.words import many
from tsproxy.policy.resolve import is_internal, resolve
from tsproxy.policy.review import ineffective_rules

TOPICS: Final = Check("topics")
_UNMATCHED_SHOWN: Final = 20
_CONSEQUENCES: Final = (
    (BEFORE, "before_max_ms", "seconds in place of milliseconds pass as January 1970"),
    (AFTER, "after_max_ms", "a record from the future keeps its segment, and all after it, from deletion"),
)
"""A limit, its field, and the consequence if it is unlimited."""


@dataclass(frozen=True, slots=True)
class Described:
    """The configuration of topics. `given`: by node id, the values that a broker gives to topics without
    values of their own; None for a broker that did not answer."""

    topics: Sequence[TopicAnswer]
    given: Mapping[int, Given | None]

    @property
    def stamped(self) -> list[str]:
        """The topics with LogAppendTime."""
        return [
            answer.topic
            for answer in self.topics
            if answer.settings.get("message.timestamp.type") == TimestampType.LOG_APPEND_TIME.config_value
        ]


async def describe(rights: Rights, nodes: Sequence[Node]) -> Described:
    """The configuration of topics. Each broker is queried for the values that it gives to topics."""
    readable = [answer for answer in rights.described if answer.error_code == ErrorCode.NONE]
    shown = examples((answer.topic, overrides_of(answer)) for answer in readable)
    given = await asyncio.gather(*(_given(node.connection, shown) for node in nodes))
    return Described(readable, {node.node_id: values for node, values in zip(nodes, given, strict=True)})


async def _given(connection: AdminConnection | None, shown: Sequence[str]) -> Given | None:
    if connection is not None:
        with suppress(ConversationError):
            return given_by(await connection.describe(shown))
    return None


def examine(config: Config, described: Described) -> Iterator[Finding]:
    if not described.topics:
        yield TOPICS.skipped("no topic can be seen whose configuration may be read")
        return
    given = given_by(described.topics) or Given({}, frozenset(), frozenset())
    # Most topics have the same settings.
    limits_of = cache(lambda settings: together(settings, given, described.given))
    in_force: dict[str, Together] = {}
    for answer in described.topics:
        try:
            in_force[answer.topic] = limits_of(overrides_of(answer))
        except ValueError as error:
            text = f"{answer.topic}: a limit is not understood: {error}"
            yield TOPICS.warning(text, "correct it, or report it")
    limits = ((topic, several.limits) for topic, several in in_force.items())
    judged = {t: known for t, known in limits if known.timestamp_type is TimestampType.CREATE_TIME}
    yield from _unlimited(
        {t: (known, _enforced(config.policy, t, in_force[t])) for t, known in judged.items()}
    )
    yield from _gone_with_kafka_4(described.topics)
    if described.stamped:
        yield TOPICS.ok(
            f"{many(len(described.stamped), 'topic')} with LogAppendTime ({few(described.stamped)}): brokers "
            "replace the timestamps, and no limit applies"
        )
    yield from _different_brokers(in_force)
    yield from _beside_policy(config, judged)


def unmatched(config: Config, rights: Rights) -> Iterator[Finding]:
    """Rules and waivers that match no topic that the user sees. A rule that never matches looks as if it
    were in force."""
    several: Iterator[Rule | Waiver] = chain(config.policy.rules, config.policy.waivers)
    for entry in islice((item for item in several if _matches_none(item, rights.visible)), _UNMATCHED_SHOWN):
        kind = "rule" if isinstance(entry, Rule) else "waiver"
        patterns = ", ".join(pattern.text for pattern in entry.match.topics)
        hints = [text for pattern in entry.match.topics if (text := regex_advice(pattern)) is not None]
        yield TOPICS.warning(
            f"{kind} {entry.name} matches no topic that the proxy's user sees ({patterns})",
            hints[0] if hints else "compare its match.topics with the topics",
        )


def _matches_none(rule: Rule | Waiver, names: Sequence[str]) -> bool:
    """True if the rule names topics, and matches none of `names`."""
    patterns = rule.match.topics
    # The names lack brokers' own topics, and applications create and delete their internal topics.
    if not (patterns and names) or any(is_internal(pattern.text.strip("/")) for pattern in patterns):
        return False
    return not any(pattern.fits(name) for pattern in patterns for name in names)


def _enforced(policy: Policy, topic: str, several: Together) -> TopicLimits:
    """The limits by which this proxy rejects, for a client that no rule names and without waivers."""
    anybody = resolve(policy, Peer("", "", 0), topic, several.limits, several.on_kafka_4, LONG_MAX)
    return anybody.limits if anybody.mode is Mode.ENFORCE and anybody.limits else TopicLimits()


def _unlimited(judged: Mapping[str, Sequence[TopicLimits]]) -> Iterator[Finding]:
    """Topics without a limit. `judged`: their own limits, and those of this proxy."""
    for key, limit, consequence in _CONSEQUENCES:
        names = [topic for topic, both in judged.items() if all(getattr(of, limit) is None for of in both)]
        if names:
            yield TOPICS.warning(
                f"{key} is unlimited in {len(names):,} of {many(len(judged), 'topic')} ({few(names)}), so "
                f"{consequence}",
                "limit it on the topics, or by a rule",
            )


def _gone_with_kafka_4(topics: Sequence[TopicAnswer]) -> Iterator[Finding]:
    """A limit that somebody has set and that brokers of Kafka 4 do not know (KAFKA-17997)."""
    names = [
        row.topic
        for row in topics
        if row.settings.get(DIFFERENCE) not in (None, str(LONG_MAX)) and DIFFERENCE not in row.defaults
    ]
    if names:
        yield TOPICS.warning(
            f"{DIFFERENCE} limits {many(len(names), 'topic')} ({few(names)}): Kafka 4 does not know it, so "
            "the limit goes at the upgrade",
            f"from Kafka 3.6 on, set {BEFORE} and {AFTER} in its place, and then remove it, before 4.0",
        )


def _different_brokers(in_force: Mapping[str, Together]) -> Iterator[Finding]:
    topics: dict[tuple[str, str], list[str]] = defaultdict(list)
    for topic, limits in in_force.items():
        for key, by_node in differences(limits):
            values = ", ".join(f"node {node_id}: {value}" for node_id, value in by_node.items())
            topics[key, values].append(topic)
    for (key, values), names in topics.items():
        yield TOPICS.warning(
            f"brokers have different defaults of {key} ({values}) for {many(len(names), 'topic')} "
            f"({few(names)}): which one rejects a record depends on the leader",
            "set it on these topics, or give all brokers the same (log.message.timestamp.*)",
        )


def _beside_policy(config: Config, judged: Mapping[str, TopicLimits]) -> Iterator[Finding]:
    """Rules that allow more than a topic does."""
    wider: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for topic, known in judged.items():
        for ineffective in ineffective_rules(config.policy, topic, known):
            allowed = bound_text(TimeLimit(ineffective.rule_max_ms))
            wider[ineffective.rule.name, ineffective.side, allowed].append(
                f"{topic} {bound_text(TimeLimit(ineffective.topic_max_ms))}"
            )
    for (rule, side, allowed), names in wider.items():
        yield TOPICS.warning(
            f"rule {rule} allows more ({side}: {allowed}) than {many(len(names), 'topic')} ({few(names)}): "
            "brokers reject the rest",
            f"set message.timestamp.{side}.max.ms on the topic, or narrow the rule",
        )
