"""The page's lists: open ends, topics with their limits, rules in force and waivers, the log."""

from collections.abc import Sequence
from typing import Final

from spark_reports.render import parts, places
from spark_reports.render.producers import tag
from spark_reports.report import words
from spark_reports.report.shape import ReasonRow, Report, Topic
from tsproxy.model.markup import Markup
from tsproxy.model.outcome import VerdictName

_SIDES: Final = {"behind": "Oldest allowed", "ahead": "Newest allowed"}
"""The limit of each side, as it is called in a report."""


def open_ends(report: Report) -> Markup | None:
    """The errors after which nobody knows the outcome: those of unconfirmed batches, then those of batches
    that were sent again."""
    final = [row for row in report["reasons"] if row["is_final"]]
    open_ = [row for row in final if row["verdict"] == VerdictName.UNCONFIRMED]
    again = [row for row in report["reasons"] if not row["is_final"]]
    content = [
        _explained("Rejected or sent again: nobody can tell", words.OPEN, open_),
        _explained("Sent again by the producer", words.SENT_AGAIN, again),
    ]
    records = words.many(sum(row["records"] for row in [*open_, *again]), "record")
    return parts.section("reasons", f"Unconfirmed, or sent again: {records}", content, is_closed=True)


def _explained(title: str, text: str, rows: Sequence[ReasonRow]) -> Markup | None:
    if not rows:
        return None
    heads = ("Answer", "Cause", "#Producers", "#Batches", "#Records")
    cells = [
        (
            tag(row["verdict"], row["reason"], row["error_code"]),
            row["cause"],
            *(row["producers"], row["batches"], row["records"]),
        )
        for row in rows
    ]
    return parts.group(title, [parts.paragraph(text, "soft"), parts.table("reasons", heads, cells)])


def topics(report: Report, rows: int) -> parts.Parts:
    """Every topic with its limits in force and the outcomes of its records. A line opens to its drift, its
    worst producers, and other limits."""
    rest, omitted = report["topics"][rows:], report["topics_omitted"]
    records = omitted["records"] + sum(topic["records_judged"] for topic in rest)
    limits = words.limits_by_topic(report["limits"])
    lines = [_topic(report, topic, limits.get(topic["topic"], [])) for topic in report["topics"][:rows]]
    return [
        parts.paragraph("Click a topic for its worst producers and for other limits.", "soft note opens"),
        parts.lines("topics", _TOPIC_HEADS, lines),
        parts.more(omitted["count"] + len(rest), "topic", f" with {words.many(records, 'record')}"),
    ]


_TOPIC_HEADS: Final = (
    *("Topic", "Oldest / newest allowed", "#Checked", "#Accepted"),
    *("#Rejected by tsproxy", "#Rejected by the broker", "#Unconfirmed"),
)


def _topic(report: Report, topic: Topic, limits: Sequence[str]) -> parts.Line:
    return parts.Line(
        (
            parts.text(words.short(topic["topic"], 60), "name"),
            ", ".join(limits) or "–",
            topic["records_judged"],
            topic["records_accepted"] + topic["records_repaired"],
            _part(topic["records_rejected"], topic),
            _part(topic["records_broker_rejected"], topic),
            topic["records_unconfirmed"],
        ),
        _details(report, topic),
        places.topic_id(topic["topic"]),
    )


def _part(records: int, topic: Topic) -> parts.Content:
    share = f" ({words.share(records, topic['records_judged'])})"
    return records, parts.text(share, "soft") if records else None


def _details(report: Report, topic: Topic) -> parts.Parts:
    """The drift of a topic, its worst producers, and other limits."""
    now_ms = words.epoch_ms(f"{report['last_day']}T12:00:00.000+00:00")
    drift = words.drift_range(topic["drift_min_ms"], topic["drift_max_ms"], now_ms)
    worst = [
        f"{words.short(words.client(row['client_id']), 60)} {words.count(row['rejected_records'])}"
        for row in topic["worst"]
    ]
    named = f" Rejected most: {', '.join(worst)}." if worst else ""
    return [
        parts.paragraph(f"Drift seen: {drift}.{named}"),
        *[_limits(topic, side, name) for side, name in _SIDES.items()],
    ]


def _limits(topic: Topic, side: str, name: str) -> Markup | None:
    """A sentence about the topic's own limit on one side and some around it, and the records that each would
    reject; None if nothing is known, or nothing differs."""
    known = [row for row in topic["what_if"] if row["side"] == side]
    now = "" if any(row["is_own"] for row in known) else " (now unlimited)"
    listed: list[parts.Content] = []
    for row in known:
        records = words.between(row["records_at_least"], row["records_at_most"], topic["records_judged"])
        limit = words.duration(row["limit_ms"])
        own = parts.text(f"{limit} (its own) {records}", "b")
        listed += ["; " if listed else "", own if row["is_own"] else f"{limit} {records}"]
    told = f"{name}{now}, and the records that each limit would reject: "
    return parts.paragraph((told, *listed, ".")) if known else None


def rules(report: Report, rows: int) -> parts.Parts:
    """The rules with the records that they rejected or would reject."""
    shown = [
        (
            parts.text(words.rule(row["rule"]), "name"),
            words.short(row["mode"] or "–", 20),
            parts.text(words.short(row["waiver"] or "–", 60), "name"),
            *(row["batches"], row["records"], row["bad_records"], row["rejected_records"]),
        )
        for row in report["rules"]
    ]
    heads = ("Rule", "Mode", "Waiver", "#Batches", "#Records", "#Bad", "#Rejected")
    none = "No batch violated a rule of tsproxy's own; no waiver was used."
    return [
        parts.table("rules", heads, shown[:rows]) if shown else parts.paragraph(none, "none"),
        parts.more(len(shown) - rows, "rule"),
    ]


def log_quality(report: Report) -> parts.Parts:
    """The numbers of the log behind the report. The mark at the head of the page names its missing parts."""
    log = report["log"]
    problems = ", ".join(
        f"{words.count(n)} {words.PROBLEM_WORDS.get(name, name)}"
        for name, n in sorted(log["quarantined_lines"].items())
    )
    examples = [*log["quarantined_examples"], *log["changed_examples"]]
    facts = (
        ("Lines of the period", words.count(log["lines"])),
        ("Lines lost", words.count(log["lost_lines"])),
        ("Heartbeats", f"{words.count(log['intervals'])}, {words.count(log['missing_intervals'])} missing"),
        ("Proxies, processes", f"{words.count(log['proxies'])}, {words.count(log['boots'])}"),
        ("Processes that stopped reporting", words.count(log["silent_boots"])),
        ("Delivered twice, counted once", words.count(log["duplicate_lines"])),
        ("Unusable lines", problems or "0"),
        ("Changed by a shipper, and still read", words.count(log["changed_lines"])),
        ("Dropped by the writer", words.count(log["lines_dropped"])),
        ("Examples not written (all are counted)", words.count(log["decisions_suppressed"])),
        ("Batches counted as (other)", words.count(log["batches_folded"])),
        ("Files read", f"{words.count(log['files'])}, {words.count(log['open_files'])} still being written"),
    )
    texts = [parts.text(words.short(example), "code") for example in examples]
    return [parts.facts(facts), parts.bullets(texts)]
