"""The page's lists: reasons, topics with their limits, and the quality of the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from spark_reports.render.lines import Lines, facts
from spark_reports.render.owners import topic_id, topic_link
from spark_reports.render.tables import Column, Columns, bullets, count, name, table, tag
from spark_reports.report import missing, words
from spark_reports.report.shape import ReasonRow, Report, Topic
from spark_reports.report.topics import SIDE_WORDS, named_side, other_limits, worst_producers
from tsproxy.model.markup import Markup, element, join


def _verdict(row: ReasonRow) -> str:
    return words.VERDICT_WORDS.get(row["verdict"], row["verdict"])


REASONS: Final[Columns[ReasonRow]] = (
    Column(
        "Reason",
        lambda row: f"{_verdict(row)}: {words.error_name(row['error_code'])}",
        lambda row: tag(row["verdict"], row["reason"], row["error_code"]),
    ),
    Column("Cause", lambda row: row["cause"]),
    count("Producers", "producers"),
    count("Batches", "batches"),
    count("Records", "records"),
    count("Bad", "bad_records"),
    count("Good in the same batches", "collateral_records"),
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
    return table(REASONS, rows, "reasons")


def topics(report: Report, rows: int) -> Markup:
    """Every topic with its limits in force and the outcomes of its records. A line opens to its drift, its
    worst producers, and other limits."""
    shown = topics_of(report)[:rows]
    rest = report["topics"][rows:]
    more = report["topics_omitted"]["count"] + len(rest)
    records = report["topics_omitted"]["records"] + sum(t["records_judged"] for t in rest)
    omitted = f"And {words.many(more, 'more topic')} with {words.many(records, 'record')}."
    return join(
        element("p", "Click a topic for its worst producers and for other limits.", class_="soft note opens"),
        _TOPIC_LINES.on_page(shown),
        element("p", omitted, class_="more") if more else None,
    )


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of a report, and its limits in words."""

    report: Report
    topic: Topic
    limits: Sequence[str]


def topics_of(report: Report) -> list[TopicRow]:
    limits = words.limits_by_topic(report["limits"])
    return [TopicRow(report, topic, limits.get(topic["topic"], ["–"])) for topic in report["topics"]]


def topic_details(row: TopicRow) -> Markup:
    """The drift of a topic, its worst producers, and other limits."""
    topic = row.topic
    now_ms = words.epoch_ms(f"{row.report['last_day']}T12:00:00.000+00:00")
    drift = words.drift_range(topic["drift_min_ms"], topic["drift_max_ms"], now_ms)
    return join(
        facts(f"Drift seen: {drift}.", worst_producers(topic)),
        *[_limits(topic, side) for side in SIDE_WORDS],
    )


def _details(row: TopicRow) -> Markup:
    own = topic_link(row.report, row.topic["topic"])
    page = element("p", "Its producers, with their evidence: ", own) if isinstance(own, Markup) else None
    return join(topic_details(row), page)


def _part(records: int, whole: int) -> Markup:
    share = element("span", words.share(records, whole), class_="soft") if records else None
    return join(words.count(records), " " if share else None, share)


def _part_of(head: str, key: Literal["records_rejected", "records_broker_rejected"]) -> Column[TopicRow]:
    return Column(
        f"#{head}",
        lambda row: words.count(row.topic[key]),
        lambda row: _part(row.topic[key], row.topic["records_judged"]),
    )


TOPICS: Final[Columns[TopicRow]] = (
    name("Topic", lambda row: words.short(row.topic["topic"], 60)),
    Column(
        "Oldest / newest allowed",
        lambda row: ", ".join(row.limits),
        lambda row: join(*[element("span", text, class_="limits") for text in row.limits]),
    ),
    Column("#Checked", lambda row: words.count(row.topic["records_judged"])),
    Column(
        "#Accepted",
        lambda row: words.count(row.topic["records_accepted"] + row.topic["records_repaired"]),
    ),
    _part_of("Rejected by tsproxy", "records_rejected"),
    _part_of("Rejected by the broker", "records_broker_rejected"),
    Column("#Unconfirmed", lambda row: words.count(row.topic["records_unconfirmed"])),
)
_TOPIC_LINES: Final = Lines(
    "topics", TOPICS, details=_details, anchor=lambda row: topic_id(row.topic["topic"])
)


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
    return join(
        element(
            "dl", *[element("div", element("dt", n), element("dd", v)) for n, v in facts], class_="facts"
        ),
        bullets(missing.sentences(log)),
        bullets([element("code", words.short(example)) for example in examples]),
    )
