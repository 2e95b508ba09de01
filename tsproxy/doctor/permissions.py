"""Findings about the rights of the proxy's own user."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Final

from tsproxy.cluster.admin_connection import AdminConnection, RejectedError, TopicAnswer
from tsproxy.cluster.metadata import WRITE, TopicRights, topic_rights
from tsproxy.config.settings import Config
from tsproxy.config.settings.decisions import TopicSettings
from tsproxy.doctor.cluster import look
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.words import many
from tsproxy.proxy.brokers.discovery import TOPIC_PROBED
from tsproxy.proxy.brokers.topic_ids import TOPIC_PROBED as ANY_TOPIC

PERMISSIONS: Final = Check("permissions")
_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
PROBE: Final = "clock.probe.topic"
DECISIONS: Final = "decisions.topic"


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of the proxy's own user. `visible`: the topics that the user may Describe, without internal
    ones. `sees_all`: it may Describe any topic. `described`: their configuration; if no topic is visible, the
    answer about a topic that need not exist. `named`: the topics to which the proxy itself writes, by the
    configuration key that names them."""

    visible: Sequence[str]
    sees_all: bool
    described: Sequence[TopicAnswer]
    named: Mapping[str, str] = field(default_factory=dict)
    of_named: Mapping[str, TopicRights] | None = None
    """None if brokers are too old to report the user's rights."""


async def rights(config: Config, connection: AdminConnection) -> Rights:
    """The rights, as a broker reports them. No topic is created. Raises ConversationError."""
    visible = sorted((await connection.cluster(with_topics=True)).topics)
    sees_all = await connection.may_describe(ANY_TOPIC)
    named = _named(config)
    described = await connection.describe(visible or [TOPIC_PROBED])
    return Rights(visible, sees_all, described, named, await _rights_on(connection, [*named.values()]))


async def _rights_on(connection: AdminConnection, topics: Sequence[str]) -> Mapping[str, TopicRights] | None:
    with suppress(RejectedError):  # before Kafka 3.1
        answers = await topic_rights(connection, topics) if topics else []
        return {answer.topic: answer for answer in answers}
    return None


def _named(config: Config) -> Mapping[str, str]:
    named = {}
    if config.dead_letters is not None:
        named["dead_letters.topic"] = config.dead_letters.topic
    if config.clock.probe is not None:
        named[PROBE] = config.clock.probe.topic
    topic = config.decisions.topic
    if topic is not None and not _is_elsewhere(config, topic):
        named[DECISIONS] = topic.name
    return named


def _is_elsewhere(config: Config, topic: TopicSettings) -> bool:
    return topic.bootstrap_servers not in ((), None, config.upstream.bootstrap_servers)


async def of_decisions(config: Config, stack: AsyncExitStack) -> list[Finding]:
    """The finding about `decisions.topic` if it has servers of its own; else none. Raises
    ConversationError."""
    topic = config.decisions.topic
    if topic is None or not _is_elsewhere(config, topic):
        return []
    there = replace(config.upstream, bootstrap_servers=topic.bootstrap_servers)
    seen = await look(replace(config, upstream=there), stack)
    if seen.connection is None:
        reasons = "; ".join(server.error for server in seen.servers if server.error)
        advice = (
            "see decisions.topic.bootstrap_servers; upstream.tls and upstream.admin.sasl apply there, too"
        )
        return [PERMISSIONS.problem(f"{DECISIONS}: {reasons}", advice)]
    return [*_writes({DECISIONS: topic.name}, await _rights_on(seen.connection, [topic.name]))]


def examine(config: Config, report: Rights) -> Iterator[Finding]:
    yield from _describe_configs(config, report)
    yield _describe(report)
    yield from _writes(report.named, report.of_named)


def _describe_configs(config: Config, report: Rights) -> Iterator[Finding]:
    denied = [answer.topic for answer in report.described if answer.error_code == _DENIED]
    if not config.policy.asks_broker:
        yield PERMISSIONS.ok("DescribeConfigs on topics: not needed, no limit comes from the cluster")
    elif not denied and not report.visible:
        yield PERMISSIONS.skipped("DescribeConfigs on topics: no topic is visible, so none was asked")
    elif not denied:
        yield PERMISSIONS.ok(
            f"DescribeConfigs on topics: granted ({many(len(report.visible), 'topic')} asked)"
        )
    elif len(denied) == len(report.described):
        yield PERMISSIONS.problem(
            "DescribeConfigs on topics: missing, so the proxy cannot read their limits and does not start",
            "grant it, or judge all topics by the limits of the file (policy.limits_from: config)",
        )
    else:
        yield PERMISSIONS.warning(
            f"DescribeConfigs on topics: missing for {len(denied):,} of {len(report.described):,} "
            f"({few(denied)}); brokers alone judge those",
            "grant it on these topics",
        )


def _describe(report: Rights) -> Finding:
    seen = many(len(report.visible), "topic")
    if report.sees_all:
        return PERMISSIONS.ok(f"Describe on topics: granted on all ({seen} now)")
    return PERMISSIONS.warning(
        f"Describe on topics: not granted on all, so the proxy offers Produce 12 at most; {seen} can be seen",
        "grant it on all topics, if clients should name topics by id and the clock be compared with brokers'",
    )


def _writes(named: Mapping[str, str], of_named: Mapping[str, TopicRights] | None) -> Iterator[Finding]:
    for key, topic in named.items():
        if of_named is None:
            yield PERMISSIONS.skipped(f"Write on {topic} ({key}): brokers before Kafka 3.1 do not say")
        else:
            yield _write(key, topic, of_named.get(topic))


def _write(key: str, topic: str, known: TopicRights | None) -> Finding:
    if known is not None and known.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        with_type = " with message.timestamp.type=LogAppendTime" if key == PROBE else ""
        return PERMISSIONS.problem(f"{key}: there is no topic {topic}", f"create it{with_type}")
    if known is None or not known.may(WRITE):
        return PERMISSIONS.problem(f"Write on {topic} ({key}): missing", "grant it")
    return PERMISSIONS.ok(f"Write on {topic} ({key}): granted")
