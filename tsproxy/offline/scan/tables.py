"""The output of a survey, for the terminal and for programs. Pure."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tsproxy.model.words import many
from tsproxy.offline.scan.retention import Kind
from tsproxy.offline.scan.survey import Finding, Survey
from tsproxy.offline.words import instant, more, span, table

_UNREAD_SHOWN: Final = 10
_TITLES: Final = {Kind.AHEAD: "Newest timestamp in the future", Kind.EXPIRED: "Older than what is kept"}
_HEADS: Final = ("partition", "offset", "newest timestamp", "by", "looks like", "what it means")


def as_text(survey: Survey, took_ms: int, rows: int) -> str:
    """At most `rows` findings of each kind, and the number of all."""
    return "\n".join(_lines(survey, took_ms, rows))


def as_json(survey: Survey, took_ms: int) -> dict[str, Any]:
    """All findings, one entry for each partition."""
    return {
        "at_ms": survey.now_ms,
        "took_ms": took_ms,
        "cluster_id": survey.cluster_id,
        "brokers": survey.brokers,
        "visible_topics": survey.visible_topics,
        "topics": survey.topics,
        "partitions": survey.partitions,
        "empty": survey.empty,
        "without_timestamp": survey.without_timestamp,
        "findings": [_entry(finding) for finding in survey.findings],
        "unread": [{"topic": row.topic, "partition": row.partition, "why": row.why} for row in survey.unread],
        "retention_ms": survey.retention_ms,
    }


def _entry(finding: Finding) -> dict[str, Any]:
    return {
        "topic": finding.topic,
        "partition": finding.partition,
        "kind": finding.hazard.kind.value,
        "offset": finding.offset,
        "newest_ms": finding.newest_ms,
        "drift_ms": finding.drift_ms,
        "unit_guess": finding.unit_guess,
        "kept_until_ms": finding.hazard.kept_until_ms,
        "meaning": finding.hazard.meaning,
        "is_still_taken": finding.is_still_taken,
    }


def _lines(survey: Survey, took_ms: int, rows: int) -> Iterator[str]:
    cluster = f"cluster {survey.cluster_id}" if survey.cluster_id else "the cluster"
    yield (
        f"{cluster}, {many(survey.brokers, 'broker')}, "
        f"{survey.topics:,} of {many(survey.visible_topics, 'topic')}, "
        f"{many(survey.partitions, 'partition')}, asked in {span(took_ms)} at {instant(survey.now_ms)}"
    )
    for kind in Kind:
        yield from _table([finding for finding in survey.findings if finding.hazard.kind is kind], kind, rows)
    yield from _unread(survey)
    counts = Counter(finding.hazard.kind for finding in survey.findings)
    fine = survey.partitions - len(survey.findings) - len(survey.unread) - survey.empty
    fine -= survey.without_timestamp
    yield ""
    yield (
        f"{counts[Kind.AHEAD]:,} ahead, {counts[Kind.EXPIRED]:,} expired, {fine:,} in order, "
        f"{survey.without_timestamp:,} without a timestamp, {survey.empty:,} empty, "
        f"{len(survey.unread):,} not read"
    )


def _table(findings: list[Finding], kind: Kind, rows: int) -> Iterator[str]:
    if not findings:
        return
    yield ""
    yield f"{_TITLES[kind]}: {len(findings):,}"
    yield from table([_HEADS, *map(_row, findings[:rows])])
    if len(findings) > rows:
        yield more(len(findings) - rows)


def _row(finding: Finding) -> tuple[str, ...]:
    meaning = finding.hazard.meaning
    if finding.hazard.kind is Kind.AHEAD and finding.is_still_taken is not None:
        meaning = f"{meaning}; {_today(finding)}"
    return (
        f"{finding.topic}-{finding.partition}",
        str(finding.offset),
        instant(finding.newest_ms),
        ("+" if finding.drift_ms > 0 else "-") + span(abs(finding.drift_ms)),
        finding.unit_guess or "",
        meaning,
    )


def _today(finding: Finding) -> str:
    if finding.is_stamped:
        return "brokers write their own time into new records"
    return (
        "the topic accepts more of them" if finding.is_still_taken else "the topic rejects such records now"
    )


def _unread(survey: Survey) -> Iterator[str]:
    if not survey.unread:
        return
    yield ""
    yield f"Not read: {len(survey.unread):,}"
    reasons = Counter(row.why for row in survey.unread)
    for why, count in reasons.most_common(_UNREAD_SHOWN):
        example = next(row for row in survey.unread if row.why == why)
        yield f"  {many(count, 'partition')}, {example.topic}-{example.partition} among them: {why}"
