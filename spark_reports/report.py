"""From collected tables to report.json (`shape`): plain Python, no Spark, no clock."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import Any, Final

from spark_reports import checks, words
from spark_reports.headline import details, headline
from spark_reports.shape import (
    SHAPE_VERSION,
    ClientReason,
    Counts,
    DriftBucket,
    Example,
    LogQuality,
    Omitted,
    Producer,
    ReasonRow,
    Report,
    Topic,
    TopicHours,
    TopicShare,
    Totals,
    Why,
)
from spark_reports.tables import Rows, Tables
from tsproxy.decisions.drift import HISTOGRAM_NAME, bucket_bounds_ms
from tsproxy.decisions.text import instant
from tsproxy.model.outcome import VerdictName

HEATMAP_TOPICS: Final = 15
_RETRIED: Final = (VerdictName.REJECTED, VerdictName.BROKER_REJECTED, VerdictName.UNCONFIRMED)
_REFUSED: Final = (VerdictName.REJECTED, VerdictName.BROKER_REJECTED)
_OPEN: Final = ".open"

_READINGS: Final = {
    "seconds": lambda value: value * 1000,
    "microseconds": lambda value: value // 1000,
    "nanoseconds": lambda value: value // 1_000_000,
}

Client = tuple[str | None, str | None]


def assemble(tables: Tables, first: date, last: date, top: int, now_ms: int) -> Report:
    """The report of the days `first` to `last`; `now_ms` is when it is made."""
    totals = _totals(tables)
    producers = _producers(tables, hours := _hours(first, last))
    reasons = sorted((_reason_row(r) for r in tables.reasons), key=lambda r: (-r["records"], r["cause"]))
    topics = _topics(tables.topics)
    refused = totals["records_rejected"] + totals["records_broker_rejected"]
    return Report(
        report="daily",
        version=SHAPE_VERSION,
        generated_ts=instant(now_ms),
        first_day=first.isoformat(),
        last_day=last.isoformat(),
        is_over=instant(now_ms)[:10] > last.isoformat(),
        headline=headline(totals, producers),
        details=details(totals, producers, reasons),
        log=_quality(tables, first, last, now_ms),
        totals=totals,
        producers=producers,
        producers_omitted=Omitted(
            count=totals["producers_affected"] - len(producers),
            records=totals["records_judged"] - sum(p["records"] for p in producers),
            refused_records=refused - sum(p["refused_records"] for p in producers),
        ),
        topics=topics[:top],
        topics_omitted=_topics_omitted(topics[top:]),
        reasons=reasons,
        drift_hist=HISTOGRAM_NAME,
        drift=_drift(tables.drift),
        hours=hours,
        all_topics=_topic_hours("", tables.hours, hours),
        topic_hours=_heatmap(tables.hours, topics, hours),
        limits=[
            {
                "topic": row["topic"],
                "timestamp_type": row["timestamp_type"],
                "before_max_ms": row["before_max_ms"],
                "after_max_ms": row["after_max_ms"],
                "first_ts": row["first_ts"],
            }
            for row in _limits(tables.limits, [t["topic"] for t in topics[:top]])
        ],
    )


def _hours(first: date, last: date) -> list[str]:
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return [f"{day.isoformat()}T{hour:02d}" for day in days for hour in range(24)]


def _sum(rows: Iterable[dict[str, Any]], name: str, where: Callable[[dict[str, Any]], bool]) -> int:
    return sum(row[name] for row in rows if where(row))


def _is_refusal(row: dict[str, Any]) -> bool:
    return row["verdict"] in _REFUSED and row["is_final"]


def _counts(rows: Rows) -> Counts:
    """From rows of one thing, one a verdict and finality."""

    def ended(verdict: VerdictName, is_final: bool) -> int:
        return _sum(rows, "records", lambda r: r["verdict"] == verdict and r["is_final"] is is_final)

    return Counts(
        records_judged=_sum(rows, "records", lambda r: bool(r["is_final"])),
        records_accepted=ended(VerdictName.ACCEPTED, True),
        records_repaired=ended(VerdictName.REPAIRED, True),
        records_rejected=ended(VerdictName.REJECTED, True),
        records_broker_rejected=ended(VerdictName.BROKER_REJECTED, True),
        records_unconfirmed=ended(VerdictName.UNCONFIRMED, True),
        records_rejected_retried=ended(VerdictName.REJECTED, False),
        records_broker_rejected_retried=ended(VerdictName.BROKER_REJECTED, False),
        records_unconfirmed_retried=ended(VerdictName.UNCONFIRMED, False),
        bad_records=_sum(rows, "bad_records", _is_refusal),
        collateral_records=_sum(rows, "collateral_records", _is_refusal),
        batches_judged=_sum(rows, "batches", lambda r: bool(r["is_final"])),
        batches_refused=_sum(rows, "batches", _is_refusal),
    )


def _totals(tables: Tables) -> Totals:
    seen = tables.summary
    return Totals(
        **_counts(tables.totals),
        producers=seen["producers"],
        producers_affected=seen["producers_affected"],
        producers_with_unit_mistakes=seen["producers_with_unit_mistakes"],
        unit_mistake_records=seen["unit_mistake_records"],
    )


def _refused(counts: Counts) -> int:
    return counts["records_rejected"] + counts["records_broker_rejected"]


def _topics(rows: Rows) -> list[Topic]:
    """Every topic, the one with most refused records first."""
    by_topic: dict[str, Rows] = {}
    for row in rows:
        by_topic.setdefault(row["topic"], []).append(row)
    topics = [
        Topic(
            **_counts(own),
            topic=topic,
            drift_min_ms=_extreme(min, own, "drift_min_ms"),
            drift_max_ms=_extreme(max, own, "drift_max_ms"),
        )
        for topic, own in by_topic.items()
    ]
    return sorted(topics, key=lambda t: (-_refused(t), -t["records_judged"], t["topic"]))


def _extreme(choose: Callable[..., int | None], rows: Rows, name: str) -> int | None:
    return choose((row[name] for row in rows if row[name] is not None), default=None)


def _topics_omitted(rest: Sequence[Topic]) -> Omitted:
    return Omitted(
        count=len(rest),
        records=sum(t["records_judged"] for t in rest),
        refused_records=sum(_refused(t) for t in rest),
    )


def _why(row: dict[str, Any]) -> Why:
    said = words.advice(row["reason"], row["unit_guess"], row["error_code"])
    return Why(
        verdict=row["verdict"],
        reason=row["reason"],
        unit_guess=row["unit_guess"],
        error_code=row["error_code"],
        is_final=row["is_final"],
        cause=said.cause,
        fix=said.fix,
        batches=row["batches"],
        records=row["records"],
        bad_records=row["bad_records"],
        collateral_records=row["collateral_records"],
    )


def _reason_row(row: dict[str, Any]) -> ReasonRow:
    return ReasonRow(**_why(row), producers=row["producers"])


def _client(row: dict[str, Any]) -> Client:
    return (row["client_id"], row["principal"])


def _by_client(rows: Rows) -> dict[Client, Rows]:
    found: dict[Client, Rows] = {}
    for row in rows:
        found.setdefault(_client(row), []).append(row)
    return found


def _producers(tables: Tables, hours: Sequence[str]) -> list[Producer]:
    reasons, topics = _by_client(tables.client_reasons), _by_client(tables.client_topics)
    by_hour, examples = _by_client(tables.client_hours), _by_client(tables.examples)
    addresses = {_client(row): row["addresses"] for row in tables.client_addresses}
    return [
        Producer(
            client_id=row["client_id"],
            principal=row["principal"],
            records=row["records"],
            refused_records=row["refused_records"],
            refused_batches=row["refused_batches"],
            bad_records=row["bad_records"],
            collateral_records=row["collateral_records"],
            first_ts=row["first_ts"],
            last_ts=row["last_ts"],
            topics=_topic_shares(topics.get(_client(row), [])),
            topics_count=row["topics"],
            addresses=addresses.get(_client(row), []),
            client_software=_software(examples.get(_client(row), [])),
            reasons=_client_reasons(reasons.get(_client(row), [])),
            hours=_aligned(by_hour.get(_client(row), []), "refused_records", hours),
            examples=[_example(e) for e in sorted(examples.get(_client(row), []), key=lambda e: e["ts"])],
        )
        for row in sorted(tables.producers, key=lambda r: (-r["refused_records"], str(_client(r))))
    ]


def _topic_shares(rows: Rows) -> list[TopicShare]:
    shares = [TopicShare(topic=r["topic"], refused_records=r["refused_records"]) for r in rows]
    return sorted(shares, key=lambda s: (-s["refused_records"], s["topic"]))


def _client_reasons(rows: Rows) -> list[ClientReason]:
    reasons = [
        ClientReason(**_why(row), drift_min_ms=row["drift_min_ms"], drift_max_ms=row["drift_max_ms"])
        for row in rows
    ]
    return sorted(reasons, key=lambda r: (-r["records"], r["cause"]))


def _software(rows: Rows) -> list[str]:
    return sorted({row["client_software"] for row in rows if row["client_software"]})


def _example(row: dict[str, Any]) -> Example:
    return Example(
        ts=row["ts"],
        topic=row["topic"],
        partition=row["partition"],
        client_address=row["client_address"],
        error_message=row["error_message"],
        records=row["records"],
        bad_records=row["bad_records"],
        bad_index=row["bad_index"] or [],
        bad_ts=row["bad_ts"] or [],
        read_as_ts=_read_as(row["bad_ts"], row["unit_guess"]),
    )


def _read_as(times: list[int] | None, unit_guess: str | None) -> str | None:
    read = _READINGS.get(unit_guess or "")
    return None if read is None or not times else instant(read(times[0]))


def _aligned(rows: Rows, name: str, hours: Sequence[str]) -> list[int]:
    sums = dict.fromkeys(hours, 0)
    for row in rows:
        if row["hour"] in sums:
            sums[row["hour"]] += row[name]
    return list(sums.values())


def _topic_hours(topic: str, rows: Rows, hours: Sequence[str]) -> TopicHours:
    return TopicHours(
        topic=topic,
        records=_aligned(rows, "records", hours),
        refused_records=_aligned(rows, "refused_records", hours),
    )


def _heatmap(rows: Rows, topics: Sequence[Topic], hours: Sequence[str]) -> list[TopicHours]:
    by_topic: dict[str, Rows] = {}
    for row in rows:
        by_topic.setdefault(row["topic"], []).append(row)
    shown = [t["topic"] for t in topics[:HEATMAP_TOPICS]]
    return [_topic_hours(topic, by_topic.get(topic, []), hours) for topic in shown]


def _drift(rows: Rows) -> list[DriftBucket]:
    """Behind from the smallest drift of each batch, ahead from its largest: two views of one thing."""
    sums: dict[int, dict[bool, tuple[int, int]]] = {}
    for row in rows:
        index = row["bucket"]
        if (row["side"] == "behind") == (index < 0):
            sums.setdefault(index, {})[row["refused"]] = (row["records"], row["batches"])
    buckets = []
    for index in sorted(sums):
        above_ms, up_to_ms = bucket_bounds_ms(index)
        taken, refused = sums[index].get(False, (0, 0)), sums[index].get(True, (0, 0))
        buckets.append(
            DriftBucket(
                bucket=index,
                above_ms=above_ms,
                up_to_ms=up_to_ms,
                taken_records=taken[0],
                taken_batches=taken[1],
                refused_records=refused[0],
                refused_batches=refused[1],
            )
        )
    return buckets


def _limits(rows: Rows, topics: Sequence[str]) -> Rows:
    """The limits of the topics shown, in their order, then by time."""
    place = {topic: number for number, topic in enumerate(topics)}
    shown = [row for row in rows if row["topic"] in place]
    return sorted(shown, key=lambda row: (place[row["topic"]], row["first_ts"]))


def _quality(tables: Tables, first: date, last: date, now_ms: int) -> LogQuality:
    proof = checks.completeness(tables.boots, first, last, now_ms)
    return LogQuality(
        is_complete=proof.is_complete,
        sentence=proof.sentence,
        proxies=proof.proxies,
        boots=proof.boots,
        lines=proof.lines,
        lost_lines=proof.lost_lines,
        intervals=proof.intervals,
        missing_intervals=proof.missing_intervals,
        silent_boots=proof.silent_boots,
        duplicate_lines=sum(row["duplicates"] for row in tables.problems if row["problem"] is None),
        quarantined_lines={r["problem"]: r["lines"] for r in tables.problems if r["problem"] is not None},
        quarantined_examples=[f"{r['file']}: {r['problem']}: {r['raw']}" for r in tables.problem_examples],
        lines_dropped=proof.lines_dropped,
        decisions_suppressed=proof.decisions_suppressed,
        batches_folded=proof.batches_folded,
        files=len(tables.files),
        open_files=sum(name.endswith(_OPEN) for name in tables.files),
    )


def has_lines(report: Report) -> bool:
    """False where the log holds nothing at all of the period."""
    return report["log"]["lines"] > 0
