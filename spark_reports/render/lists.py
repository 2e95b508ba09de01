"""The page's lists: reasons, topics with their limits, and the quality of the log."""

from collections.abc import Sequence
from typing import Final

from spark_reports.render.lines import Line, facts, lines
from spark_reports.render.owners import topic_id
from spark_reports.render.tables import bullets, heads, table, tag
from spark_reports.report import missing, words
from spark_reports.report.shape import ReasonRow, Report, Topic
from spark_reports.report.topics import SIDE_WORDS, named_side, other_limits, worst_producers
from tsproxy.model.markup import Content, Markup, element, join

_REASON_HEADS: Final = heads(
    *("Reason", "Cause", "#Producers", "#Batches", "#Records", "#Bad", "#Good in the same batches")
)
_TOPIC_HEADS: Final = heads(
    *("Topic", "Oldest / newest allowed", "#Checked", "#Accepted"),
    *("#Rejected by tsproxy", "#Rejected by the broker", "#Unconfirmed"),
)


def reasons(report: Report) -> Markup:
    """The reasons why batches were not simply accepted: final ones, then unconfirmed batches, then batches
    that were sent again."""
    if not report["reasons"]:
        return element("p", "Nothing was rejected.", class_="none")
    final, open_, again = words.by_outcome(report["reasons"])
    return join(
        _reason_table(final) if final else None,
        _explained("Rejected or sent again: nobody can tell", words.OPEN, open_),
        _explained("Sent again by the producer", words.SENT_AGAIN, again),
    )


def _explained(head: str, text: str, rows: Sequence[ReasonRow]) -> Markup | None:
    """A heading, a text and the table of reasons below it; None if there are no rows."""
    return join(element("h3", head), element("p", text, class_="soft"), _reason_table(rows)) if rows else None


def _reason_table(rows: Sequence[ReasonRow]) -> Markup:
    return table(_REASON_HEADS, [_reason_cells(row) for row in rows], "reasons")


def _reason_cells(row: ReasonRow) -> tuple[Content, ...]:
    return (
        tag(row["verdict"], row["reason"], row["error_code"]),
        row["cause"],
        words.count(row["producers"]),
        words.count(row["batches"]),
        words.count(row["records"]),
        words.count(row["bad_records"]),
        words.count(row["collateral_records"]),
    )


def topics(report: Report, rows: int) -> Markup:
    """Every topic with its limits in force and the outcomes of its records. A line opens to its drift, its
    worst producers, and other limits."""
    shown = report["topics"][:rows]
    limits = words.limits_by_topic(report["limits"])
    made = [_topic(report, topic, limits.get(topic["topic"], ["–"])) for topic in shown]
    rest = report["topics"][rows:]
    more = report["topics_omitted"]["count"] + len(rest)
    records = report["topics_omitted"]["records"] + sum(t["records_judged"] for t in rest)
    omitted = f"And {words.many(more, 'more topic')} with {words.many(records, 'record')}."
    return join(
        element("p", "A line opens to its worst producers, and to other limits.", class_="soft note opens"),
        lines(_TOPIC_HEADS, made, "topics"),
        element("p", omitted, class_="more") if more else None,
    )


def _topic(report: Report, topic: Topic, limits: Sequence[str]) -> Line:
    checked = topic["records_judged"]
    now_ms = words.epoch_ms(f"{report['last_day']}T12:00:00.000+00:00")
    drift = words.drift_range(topic["drift_min_ms"], topic["drift_max_ms"], now_ms)
    return Line(
        cells=(
            element("span", words.short(topic["topic"], 60), class_="name"),
            join(*[element("span", text, class_="limits") for text in limits]),
            words.count(checked),
            words.count(topic["records_accepted"] + topic["records_repaired"]),
            _part(topic["records_rejected"], checked),
            _part(topic["records_broker_rejected"], checked),
            words.count(topic["records_unconfirmed"]),
        ),
        details=join(
            facts(f"Drift seen: {drift}.", worst_producers(topic)),
            *[_limits(topic, side) for side in SIDE_WORDS],
        ),
        anchor=topic_id(topic["topic"]),
    )


def _part(records: int, whole: int) -> Markup:
    share = element("span", words.share(records, whole), class_="soft") if records else None
    return join(words.count(records), " " if share else None, share)


def _limits(topic: Topic, side: str) -> Markup | None:
    """A sentence about limits on one side, and the records that each would reject; None if none is known."""
    known = other_limits(topic, side)
    texts = [element("b", limit.text) if limit.is_own else limit.text for limit in known]
    beginning = f"{named_side(topic, side)}: "
    listed = join(*[join("; " if number else None, text) for number, text in enumerate(texts)])
    return element("p", beginning, listed, ".") if known else None


def log_quality(report: Report) -> Markup:
    """The quality of the log behind the report."""
    log = report["log"]
    problems = ", ".join(
        f"{words.count(n)} {words.PROBLEM_WORDS.get(name, name)}"
        for name, n in sorted(log["quarantined_lines"].items())
    )
    facts = (
        ("Lines of the period", words.count(log["lines"])),
        ("Lines lost", words.count(log["lost_lines"])),
        ("Heartbeats", f"{words.count(log['intervals'])}, {words.count(log['missing_intervals'])} missing"),
        ("Proxies, processes", f"{words.count(log['proxies'])}, {words.count(log['boots'])}"),
        ("Processes that stopped reporting", words.count(log["silent_boots"])),
        ("Delivered twice, counted once", words.count(log["duplicate_lines"])),
        ("Unusable lines", problems or "0"),
        ("Dropped by the writer", words.count(log["lines_dropped"])),
        ("Examples not written (all are counted)", words.count(log["decisions_suppressed"])),
        ("Batches counted as (other)", words.count(log["batches_folded"])),
        ("Files read", f"{words.count(log['files'])}, {words.count(log['open_files'])} still being written"),
    )
    return join(
        element(
            "dl", *[element("div", element("dt", n), element("dd", v)) for n, v in facts], class_="facts"
        ),
        bullets(missing.sentences(log)),
        bullets([element("code", words.short(example)) for example in log["quarantined_examples"]]),
    )
