"""Makes report.json (`shape`) from collected tables: plain Python, no Spark, no clock."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from operator import itemgetter
from typing import Any, Final

from spark_reports.log import file_counts
from spark_reports.log.completeness import (
    GAPS_LISTED,
    Evidence,
    by_problem,
    completeness,
    days_without_log,
)
from spark_reports.log.grouping import Rows
from spark_reports.report import reasons, what_if, words
from spark_reports.report.headline import details, headline
from spark_reports.report.producers import grouped, latest_ms, with_rejections
from spark_reports.report.shape import (
    SHAPE_VERSION,
    AroundLimit,
    Change,
    Counts,
    DayOfTrend,
    DriftBucket,
    HarmedProducer,
    InForce,
    Limits,
    LogQuality,
    Omitted,
    RefusedClient,
    Repaired,
    Report,
    RuleAtWork,
    Topic,
    TopicProducer,
    Totals,
    Trend,
    WhatIf,
    WouldReject,
    WrongClock,
)
from spark_reports.report.tables import Tables
from tsproxy.decisions.drift import HISTOGRAM_NAME, bucket_bounds_ms
from tsproxy.decisions.text import instant
from tsproxy.model.outcome import VerdictName

_REJECTED: Final = (VerdictName.REJECTED, VerdictName.BROKER_REJECTED)
_EXAMPLES: Final = 5
_BROKERS_TIME: Final = "LogAppendTime"
_COMPARABLE_DAYS: Final = 2


def assemble(tables: Tables, first: date, last: date, now_ms: int) -> Report:
    """The report of the days `first` to `last`; `now_ms` is when it is made.

    `history`, `owners` and `links` are added by the modules of these names.
    """
    totals = _totals(tables)
    producers = with_rejections(tables, hours := _hours(first, last), last)
    causes = reasons.by_cause(tables.reasons, producers)
    topics = _topics(tables)
    trend = _trend(tables)
    would_reject = [_would_reject(row) for row in tables.would_reject]
    repaired = [_repaired(row) for row in tables.repaired]
    rejected = totals["records_rejected"] + totals["records_broker_rejected"]
    log = quality(tables.day.evidence, first, last, now_ms)
    report = Report(
        report="daily",
        version=SHAPE_VERSION,
        generated_ts=instant(now_ms),
        first_day=first.isoformat(),
        last_day=last.isoformat(),
        is_over=instant(now_ms)[:10] > last.isoformat(),
        headline=headline(totals, causes, log["state"], _missing_days(tables, first, last, now_ms)),
        details=[],
        log=log,
        totals=totals,
        producers=producers,
        producers_omitted=Omitted(
            count=totals["producers_affected"] - len(producers),
            records=totals["records_judged"] - sum(p["records"] for p in producers),
            rejected_records=rejected - sum(p["rejected_records"] for p in producers),
        ),
        topics=topics,
        topics_omitted=_topics_omitted(tables, len(topics)),
        reasons=causes,
        drift_hist=HISTOGRAM_NAME,
        drift=_drift(tables.drift),
        what_if=_what_if(tables.what_if, tables.summary["left_out_records"]),
        would_reject=would_reject,
        repaired=repaired,
        rules=[RuleAtWork(**row) for row in tables.rules],  # type: ignore[typeddict-item]  # its keys are the columns
        in_force=[_in_force(row) for row in tables.in_force],
        trend=trend,
        history=None,
        owners=None,
        links=None,
        hours=hours,
        wrong_clocks=_wrong_clocks(*tables.day.clocks),
        refused_by_kafka_4=[RefusedClient(**row) for row in tables.day.refused],  # type: ignore[typeddict-item]  # its keys are the columns
        kafka_4=words.kafka_4(tables.day.refused, tables.ahead_of_kafka_4),
        cause_hours=reasons.by_hour(tables.reason_hours, hours),
        limits=_limits(tables.day.limits, [t["topic"] for t in topics]),
    )
    return {**report, "details": details(report)}


def everybody(report: Report, tables: Tables) -> Report:
    """The report with all rows about clients (at most MAX_CLIENTS of each outcome), and without their hours:
    report.csv is made of it."""
    whole = replace(tables, producers=tables.clients)
    return {
        **report,
        "producers": with_rejections(whole, [], date.fromisoformat(report["last_day"])),
        "would_reject": [_would_reject(row) for row in tables.watched],
        "repaired": [_repaired(row) for row in tables.all_repaired],
    }


def _hours(first: date, last: date) -> list[str]:
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return [f"{day.isoformat()}T{hour:02d}" for day in days for hour in range(24)]


def _sum(rows: Iterable[dict[str, Any]], name: str, where: Callable[[dict[str, Any]], bool]) -> int:
    return sum(row[name] for row in rows if where(row))


def _is_rejection(row: dict[str, Any]) -> bool:
    return row["verdict"] in _REJECTED and row["is_final"]


def _counts(rows: Rows) -> Counts:
    """The counts of rows with the same key, one for each verdict and `is_final`."""

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
        bad_records=_sum(rows, "bad_records", _is_rejection),
        collateral_records=_sum(rows, "collateral_records", _is_rejection),
        records_unread=_sum(rows, "records_unread", lambda r: bool(r["is_final"])),
        records_limits_unknown=_sum(rows, "records_limits_unknown", lambda r: bool(r["is_final"])),
        batches_judged=_sum(rows, "batches", lambda r: bool(r["is_final"])),
        batches_rejected=_sum(rows, "batches", _is_rejection),
    )


def _totals(tables: Tables) -> Totals:
    summary = tables.summary
    return Totals(
        **_counts(tables.topics),
        producers=summary["producers"],
        producers_affected=summary["producers_affected"],
        producers_with_unit_mistakes=summary["producers_with_unit_mistakes"],
        unit_mistake_records=summary["unit_mistake_records"],
        repaired_producers=summary["repaired_producers"],
        would_reject_producers=summary["would_reject_producers"],
        would_reject_records=summary["would_reject_records"],
        far_behind_producers=summary["far_behind_producers"],
        far_behind_records=summary["far_behind_records"],
    )


def _rejected(counts: Counts) -> int:
    return counts["records_rejected"] + counts["records_broker_rejected"]


def _topics(tables: Tables) -> list[Topic]:
    clients, totals = (
        grouped(rows, itemgetter("topic")) for rows in (tables.topic_clients, tables.topic_totals)
    )
    limits = {row["topic"]: row for row in _by_last_line(tables.day.limits)}
    topics = [
        Topic(
            **_counts(own),
            topic=topic,
            drift_min_ms=_extreme(min, own, "drift_min_ms"),
            drift_max_ms=_extreme(max, own, "drift_max_ms"),
            worst=_topic_producers(clients.get(topic, [])),
            what_if=_around(totals.get(topic, []), limits.get(topic)),
        )
        for topic, own in grouped(tables.topics, itemgetter("topic")).items()
        if topic is not None
    ]
    return sorted(topics, key=lambda t: (-_rejected(t), -t["records_judged"], t["topic"]))


def _topic_producers(rows: Rows) -> list[TopicProducer]:
    names = ("client_id", "principal", "rejected_records")
    producers = [TopicProducer(**{name: row[name] for name in names}) for row in rows]  # type: ignore[typeddict-item]  # its keys are the columns
    return sorted(producers, key=lambda p: (-p["rejected_records"], str((p["client_id"], p["principal"]))))


def _around(totals: Rows, limits: dict[str, Any] | None) -> list[AroundLimit]:
    """The topic's own limits and those around them; empty if its limits are unknown, or do not matter."""
    if not totals or limits is None or limits["timestamp_type"] == _BROKERS_TIME:
        return []
    behind = what_if.around(totals, "behind", limits["before_max_ms"])
    return [*behind, *what_if.around(totals, "ahead", limits["after_max_ms"])]


def _extreme(choose: Callable[..., int | None], rows: Rows, name: str) -> int | None:
    return choose((row[name] for row in rows if row[name] is not None), default=None)


def _topics_omitted(tables: Tables, shown: int) -> Omitted:
    rest = _counts([row for row in tables.topics if row["topic"] is None])
    return Omitted(
        count=tables.summary["topics"] - shown,
        records=rest["records_judged"],
        rejected_records=_rejected(rest),
    )


def _drift(rows: Rows) -> list[DriftBucket]:
    """Buckets behind count batches by their smallest drift, buckets ahead by their largest."""
    sums: dict[int, dict[bool, tuple[int, int]]] = {}
    for row in rows:
        index = row["bucket"]
        if (row["side"] == "behind") == (index < 0):
            sums.setdefault(index, {})[row["is_rejected"]] = (row["records"], row["batches"])
    buckets = []
    for index in sorted(sums):
        above_ms, up_to_ms = bucket_bounds_ms(index)
        others, rejected = sums[index].get(False, (0, 0)), sums[index].get(True, (0, 0))
        buckets.append(
            DriftBucket(
                bucket=index,
                above_ms=above_ms,
                up_to_ms=up_to_ms,
                not_rejected_records=others[0],
                not_rejected_batches=others[1],
                rejected_records=rejected[0],
                rejected_batches=rejected[1],
            )
        )
    return buckets


def _what_if(rows: Rows, left_out: int) -> WhatIf:
    batches, records = what_if.whole(rows)
    return WhatIf(
        batches=batches,
        records=records,
        records_left_out=left_out,
        ahead=what_if.curve(rows, "ahead"),
        behind=what_if.curve(rows, "behind"),
    )


def _would_reject(row: dict[str, Any]) -> WouldReject:
    advice = words.advice_if_counted(
        row["rule"], row["reason"], row["unit_guess"], latest_ms(row), row["waiver"]
    )
    return WouldReject(
        rule=row["rule"],
        waiver=row["waiver"],
        topic=row["topic"],
        client_id=row["client_id"],
        principal=row["principal"],
        clients=row["clients"],
        instance=row["instance"],
        team=row["team"],
        reason=row["reason"],
        cause=advice.cause,
        fix=advice.fix,
        batches=row["batches"],
        records=row["records"],
        bad_records=row["bad_records"],
    )


def _repaired(row: dict[str, Any]) -> Repaired:
    advice = words.advice(row["reason"], row["unit_guess"], 0)
    return Repaired(
        rule=row["rule"],
        client_id=row["client_id"],
        principal=row["principal"],
        clients=row["clients"],
        instance=row["instance"],
        team=row["team"],
        cause=advice.cause,
        fix=advice.fix,
        records=row["records"],
        bad_records=row["bad_records"],
        topics=len(row["topics"]),
        first_ts=instant(row["first_ms"]),
    )


def _in_force(row: dict[str, Any]) -> InForce:
    """The row with its `facts`. Another version of tsproxy may write other facts."""
    try:
        facts = json.loads(row["facts"] or "{}")
    except ValueError:
        facts = {}
    facts = facts if isinstance(facts, dict) else {}
    mode, limits_from = (facts.get(name) for name in ("mode", "limits_from"))
    return InForce(
        ts=row["ts"],
        proxy=row["proxy"],
        kind=row["kind"],
        mode=None if mode is None else str(mode),
        limits_from=None if limits_from is None else str(limits_from),
        rules=_names(facts.get("rules")),
        waivers=_names(facts.get("waivers")),
    )


def _names(found: object) -> list[str]:
    return [str(name) for name in found] if isinstance(found, list) else []


def _trend(tables: Tables) -> Trend | None:
    """The trend; None without a rollup, or on its first day, which has no day before it."""
    if len(tables.days) < _COMPARABLE_DAYS:
        return None
    return Trend(
        days=[DayOfTrend(**row) for row in tables.days],  # type: ignore[typeddict-item]  # its keys are the columns
        changes=[Change(**row) for row in tables.changes],  # type: ignore[typeddict-item]  # its keys are the columns
        new_producers=tables.new_producers,
    )


def _limits(rows: Rows, topics: Sequence[str]) -> list[Limits]:
    """The limits of the topics shown, in their order. The last ones of a topic are in force."""
    names, place = Limits.__annotations__, {topic: number for number, topic in enumerate(topics)}
    shown = [row for row in _by_last_line(rows) if row["topic"] in place]
    shown.sort(key=lambda row: place[row["topic"]])
    return [Limits(**{name: row[name] for name in names}) for row in shown]  # type: ignore[typeddict-item]  # its keys


def _by_last_line(rows: Rows) -> Rows:
    """Sets of limits in the order of their last lines. That of first lines is another if a set came back."""
    return sorted(rows, key=itemgetter("last_ts"))


def _wrong_clocks(times: Rows, harmed: Rows) -> list[WrongClock]:
    """The times that harmed anybody. Their beginnings are by the wrong clock in the log."""
    of = itemgetter("proxy", "boot", "from_seq")
    clients = grouped(harmed, of)
    return [
        WrongClock(
            proxy=time["proxy"],
            from_ts=instant(words.epoch_ms(time["from_ts"]) - time["offset_ms"]),
            to_ts=time["to_ts"],
            offset_ms=time["offset_ms"],
            records=sum(row["records"] for row in clients[of(time)]),
            producers=[
                HarmedProducer(client_id=row["client_id"], principal=row["principal"], records=row["records"])
                for row in clients[of(time)]
            ],
        )
        for time in times
        if of(time) in clients
    ]


def _missing_days(tables: Tables, first: date, last: date, now_ms: int) -> list[str]:
    """The days that a report of several days lacks. A report of one day says itself what it lacks."""
    return [] if first == last else days_without_log(tables.day.evidence, first, last, now_ms)


def quality(evidence: Evidence, first: date, last: date, now_ms: int) -> LogQuality:
    """The quality of the log of the period. `now_ms`: the reader's clock."""
    proof, files = completeness(evidence, first, last, now_ms), evidence.files
    number, number_open = file_counts.files(files)
    set_aside = [row for row in files if row["problem"] is not None and row["file"] is not None]
    examples = sorted(set_aside, key=itemgetter("file", "problem"))[:_EXAMPLES]
    as_they_came = [f"{row['file']}: {row['example']}" for row in files if row["changed"] and row["file"]]
    return LogQuality(
        is_complete=proof.is_complete,
        state=proof.state,
        sentence=proof.sentence,
        proxies=proof.proxies,
        boots=proof.boots,
        lines=proof.lines,
        lost_lines=proof.lost_lines,
        intervals=proof.intervals,
        missing_intervals=proof.missing_intervals,
        silent_boots=len(proof.silent),
        gaps=proof.gaps,
        silent=proof.silent[:GAPS_LISTED],
        unheard=proof.unheard[:GAPS_LISTED],
        duplicate_lines=sum(row["duplicates"] for row in files if row["problem"] is None),
        quarantined_lines=by_problem(files, "lines"),
        quarantined_examples=[f"{r['file']}: {r['problem']}: {r['example'] or ''}" for r in examples],
        lines_unusable=sum(proof.unusable.values()),
        changed_lines=sum(row["changed"] for row in files),
        changed_examples=sorted(as_they_came)[:_EXAMPLES],
        lines_dropped=proof.lines_dropped,
        decisions_suppressed=proof.decisions_suppressed,
        batches_folded=proof.batches_folded,
        files=number,
        open_files=number_open,
    )
