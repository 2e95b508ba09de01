"""Makes report.json (`shape`) from collected tables: plain Python, no Spark, no clock."""

from collections.abc import Mapping, Sequence
from datetime import date
from operator import itemgetter
from typing import Any, Final

from spark_reports.log.completeness import Evidence, days_without_log, quality
from spark_reports.log.grouping import Rows
from spark_reports.log.period import days_between
from spark_reports.report import groups, history, reasons, shape, trend, what_if, words
from spark_reports.report.groups import grouped
from spark_reports.report.headline import headline, rejected_records
from spark_reports.report.producers import latest_ms, with_rejections
from spark_reports.report.shape import of_row
from spark_reports.report.tables import Tables
from tsproxy.decisions.text import instant

_BROKERS_TIME: Final = "LogAppendTime"
_TOPICS_COMPARED: Final = 50
"""The number of topics whose drift is collected: the topics with most rejected records."""


def assemble(tables: Tables, first: date, last: date, now_ms: int) -> shape.Report:
    """The report of the days `first` to `last`; `now_ms` is when it is made.

    `history`, `owners`, `links` and `held_topics` are added by the modules of these names.
    """
    day, counters = tables.day, tables.counters
    hours = _hours(first, last)
    [summary] = counters.table(groups.SUMMARY)
    totals = of_row(shape.Totals, summary)
    producers = with_rejections(tables, tables.worst(tables.clients), hours, last)
    causes = reasons.by_cause(counters.table(groups.REASONS), producers)
    topics, other_topics = _topics(tables)
    log, is_over = quality(day.evidence, first, last, now_ms), instant(now_ms)[:10] > last.isoformat()
    return shape.Report(
        report="daily",
        version=shape.SHAPE_VERSION,
        generated_ts=instant(now_ms),
        first_day=first.isoformat(),
        last_day=last.isoformat(),
        is_over=is_over,
        headline=headline(totals, causes, log["state"], _missing_days(day.evidence, first, last, now_ms)),
        log=log,
        cluster_id=summary["cluster_id"],
        totals=totals,
        producers=producers,
        producers_omitted=shape.Omitted(
            count=totals["producers_affected"] - len(producers),
            records=totals["records_judged"] - sum(p["records"] for p in producers),
            rejected_records=rejected_records(totals) - sum(p["rejected_records"] for p in producers),
        ),
        topics=topics,
        topics_omitted=shape.Omitted(
            count=summary["topics"] - len(topics),
            records=sum(rest["records_judged"] for rest in other_topics),
            rejected_records=sum(map(rejected_records, other_topics)),
        ),
        reasons=causes,
        what_if=_what_if(day.buckets.table(groups.TOTALS), summary["left_out_records"]),
        would_reject=_would_reject(tables.worst(tables.watched, "is_far_behind")),
        repaired=_repaired(tables.worst(tables.repaired)),
        rules=[of_row(shape.RuleAtWork, row) for row in counters.table(groups.RULES)],
        trend=_trend(tables, is_whole=is_over and history.is_whole(log, first, last)),
        history=None,
        owners=None,
        links=None,
        hours=hours,
        wrong_clocks=_wrong_clocks(*day.clocks),
        refused_by_kafka_4=[of_row(shape.RefusedClient, row) for row in day.refused],
        kafka_4=words.kafka_4(day.refused, day.counters.table(groups.AHEAD_OF_KAFKA_4)),
        cause_hours=reasons.by_hour(counters.table(groups.REASON_HOURS), hours),
        held_topics=[],
        limits=_limits(day.limits, [t["topic"] for t in topics]),
    )


def everybody(report: shape.Report, tables: Tables) -> shape.Report:
    """The report with all rows about clients (at most MAX_CLIENTS of each outcome), and without their hours:
    report.csv is made of it."""
    last = date.fromisoformat(report["last_day"])
    return {
        **report,
        "producers": with_rejections(tables, tables.clients, [], last),
        "would_reject": _would_reject(tables.watched),
        "repaired": _repaired(tables.repaired),
    }


def _hours(first: date, last: date) -> list[str]:
    return [f"{day}T{hour:02d}" for day in days_between(first, last) for hour in range(24)]


def _topics(tables: Tables) -> tuple[list[shape.Topic], list[shape.Counts]]:
    """The worst topics, and all others together, if there are others."""
    counters = tables.counters.of_worst_topics(tables.top)
    clients = grouped(counters.table(groups.TOPIC_CLIENTS, shape.CLIENTS_PER_TOPIC), itemgetter("topic"))
    buckets = tables.day.buckets.of_topics(_compared(clients)).table(groups.TOPIC_TOTALS)
    totals = grouped(buckets, itemgetter("topic"))
    limits = {row["topic"]: row for row in _by_last_line(tables.day.limits)}
    rows = counters.table(groups.TOPICS)
    topics = [
        of_row(
            shape.Topic,
            row,
            worst=[of_row(shape.TopicProducer, client) for client in clients.get(row["topic"], [])],
            what_if=_around(totals.get(row["topic"], []), limits.get(row["topic"])),
        )
        for row in rows
        if row["topic"] is not None
    ]
    topics.sort(key=lambda t: (-rejected_records(t), -t["records_judged"], t["topic"]))
    return topics, [of_row(shape.Counts, row) for row in rows if row["topic"] is None]


def _compared(clients: Mapping[str | None, Rows]) -> list[str]:
    """The topics to compare, by the rejected records of their worst clients."""
    rejected = {
        topic: sum(row["rejected_records"] for row in rows)
        for topic, rows in clients.items()
        if topic is not None
    }
    return sorted(rejected, key=lambda topic: (-rejected[topic], topic))[:_TOPICS_COMPARED]


def _around(totals: Rows, limits: dict[str, Any] | None) -> list[shape.AroundLimit]:
    """The topic's own limits and those around them; empty if its limits are unknown, or do not matter."""
    if not totals or limits is None or limits["timestamp_type"] == _BROKERS_TIME:
        return []
    behind = what_if.around(totals, "behind", limits["before_max_ms"])
    return [*behind, *what_if.around(totals, "ahead", limits["after_max_ms"])]


def _what_if(rows: Rows, left_out: int) -> shape.WhatIf:
    batches, records = what_if.whole(rows)
    return shape.WhatIf(
        batches=batches,
        records=records,
        records_left_out=left_out,
        ahead=what_if.curve(rows, "ahead"),
        behind=what_if.curve(rows, "behind"),
    )


def _would_reject(rows: Rows) -> list[shape.WouldReject]:
    shown = []
    for row in rows:
        asked = (row["reason"], row["unit_guess"], latest_ms(row), row["waiver"])
        advice = words.advice_if_counted(*asked, is_far_behind=row["is_far_behind"])
        shown.append(of_row(shape.WouldReject, row, cause=advice.cause, fix=advice.fix))
    return shown


def _repaired(rows: Rows) -> list[shape.Repaired]:
    shown = []
    for row in rows:
        advice, first_ts = words.advice(row["reason"], row["unit_guess"], 0), instant(row["first_ms"])
        others = {"topics": len(row["topics"]), "first_ts": first_ts}
        shown.append(of_row(shape.Repaired, row, cause=advice.cause, fix=advice.fix, **others))
    return shown


def _trend(tables: Tables, *, is_whole: bool) -> shape.Trend | None:
    """The trend; None without a rollup, or on its first day, which has no day before it."""
    if tables.known is None or len(tables.days) <= 1:
        return None
    changes = trend.changes(tables.known, tables.day.last, is_whole=is_whole)
    return shape.Trend(
        days=[of_row(shape.DayOfTrend, day) for day in tables.days],
        changes=[of_row(shape.Change, change) for change in changes[: tables.top]],
        changed_producers=len(changes),
        new_producers=sum(change["kind"] == "new" for change in changes),
    )


def _limits(rows: Rows, topics: Sequence[str]) -> list[shape.Limits]:
    """The limits of the topics shown, in their order. The last ones of a topic are in force."""
    place = {topic: number for number, topic in enumerate(topics)}
    shown = [row for row in _by_last_line(rows) if row["topic"] in place]
    return [of_row(shape.Limits, row) for row in sorted(shown, key=lambda row: place[row["topic"]])]


def _by_last_line(rows: Rows) -> Rows:
    """Sets of limits in the order of their last lines. That of first lines is another if a set came back."""
    return sorted(rows, key=itemgetter("last_ts"))


def _wrong_clocks(times: Rows, harmed: Rows) -> list[shape.WrongClock]:
    """The times that harmed anybody. Their beginnings are by the wrong clock in the log."""
    of = itemgetter("proxy", "boot", "from_seq")
    clients = grouped(harmed, of)
    return [
        of_row(
            shape.WrongClock,
            time,
            from_ts=instant(words.epoch_ms(time["from_ts"]) - time["offset_ms"]),
            records=sum(row["records"] for row in clients[of(time)]),
            producers=[of_row(shape.HarmedProducer, row) for row in clients[of(time)]],
        )
        for time in times
        if of(time) in clients
    ]


def _missing_days(evidence: Evidence, first: date, last: date, now_ms: int) -> list[str]:
    """The days that a report of several days lacks. A report of one day says itself what it lacks."""
    return [] if first == last else days_without_log(evidence, first, last, now_ms)
