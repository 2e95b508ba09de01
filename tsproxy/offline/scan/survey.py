"""`survey`: the findings of a scan, from the answers of a cluster. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from tsproxy.cluster.topic_limits import topic_limits
from tsproxy.model.kafka import TimestampType
from tsproxy.model.verdict import TopicLimits, UnitGuess
from tsproxy.offline.scan.cluster import Answers, Settings, Unread
from tsproxy.offline.scan.retention import Hazard, Kind, Retention, hazard
from tsproxy.policy.timestamps import is_out_of_range
from tsproxy.policy.units import guess_unit
from tsproxy.wire.k02_list_offsets import PartitionOffset


@dataclass(frozen=True, slots=True)
class Finding:
    """One partition at risk: the record with its newest timestamp, and the consequences.

    `drift_ms` is that timestamp minus the clock. `is_still_taken`: such a record would enter the topic today
    with this timestamp; None if the user may not read the topic's limits. `is_stamped`: brokers write their
    own time into each new record (LogAppendTime).
    """

    topic: str
    partition: int
    offset: int
    newest_ms: int
    drift_ms: int
    unit_guess: UnitGuess | None
    hazard: Hazard
    is_still_taken: bool | None
    is_stamped: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of a scan. `empty` counts partitions without a record, `without_timestamp` those with
    records and no timestamp above -1. `findings` are sorted, the worst first. The survey covers `topics` of
    the `visible_topics`. `retention_ms` has retention.ms of the topics that delete by their producers' times,
    as far as it is known."""

    now_ms: int
    cluster_id: str | None
    brokers: int
    visible_topics: int
    topics: int
    partitions: int
    empty: int
    without_timestamp: int
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]
    retention_ms: Mapping[str, int]

    def has(self, kinds: frozenset[Kind]) -> bool:
        return any(finding.hazard.kind in kinds for finding in self.findings)


def survey(answers: Answers, now_ms: int, ahead_ms: int) -> Survey:
    """The partitions at risk at `now_ms`. A timestamp counts as ahead if it is more than `ahead_ms` after
    `now_ms`."""
    timed = [one for one in answers.newest if one.timestamp_ms >= 0]
    results = (_finding(one, answers.settings, now_ms, ahead_ms) for one in timed)
    findings = [one for one in results if one is not None]
    findings.sort(key=lambda one: (one.hazard.kind, -one.newest_ms, one.topic, one.partition))
    seen = [one.topic for one in answers.newest] + [one.topic for one in answers.unread]
    return Survey(
        now_ms=now_ms,
        cluster_id=answers.cluster_id,
        brokers=answers.brokers,
        visible_topics=answers.visible_topics,
        topics=len(set(seen)),
        partitions=len(seen),
        empty=len(answers.empty),
        without_timestamp=len(answers.newest) - len(timed) - len(answers.empty),
        findings=tuple(findings),
        unread=answers.unread,
        retention_ms=_retention_ms(answers.settings),
    )


def _retention_ms(of_partitions: Mapping[tuple[str, int], Settings | None]) -> dict[str, int]:
    by_topic = {}
    for topic, settings in {topic: of_partitions[topic, n] for topic, n in sorted(of_partitions)}.items():
        retention, limits = _understood(settings)
        if retention is None or limits is None or retention.retention_ms is None:
            continue
        if retention.deletes and limits.timestamp_type is TimestampType.CREATE_TIME:
            by_topic[topic] = retention.retention_ms
    return by_topic


def _finding(
    one: PartitionOffset, settings: Mapping[tuple[str, int], Settings | None], now_ms: int, ahead_ms: int
) -> Finding | None:
    retention, limits = _understood(settings.get((one.topic, one.partition)))
    risk = hazard(one.timestamp_ms, retention, now_ms, ahead_ms)
    if risk is None:
        return None
    is_stamped = limits is not None and limits.timestamp_type is TimestampType.LOG_APPEND_TIME
    return Finding(
        topic=one.topic,
        partition=one.partition,
        offset=one.offset,
        newest_ms=one.timestamp_ms,
        drift_ms=one.timestamp_ms - now_ms,
        unit_guess=guess_unit(one.timestamp_ms, now_ms),
        hazard=risk,
        is_still_taken=not (is_stamped or is_out_of_range(one.timestamp_ms, limits, now_ms))
        if limits
        else None,
        is_stamped=is_stamped,
    )


def _understood(settings: Settings | None) -> tuple[Retention | None, TopicLimits | None]:
    """The parts of a topic's configuration that matter here. They are None if the user may not read it, or if
    it holds a value that no known version of Kafka allows."""
    if settings is None:
        return None, None
    try:
        return Retention.of(settings), topic_limits(settings)
    except ValueError:
        return None, None
