"""The producers that were rejected, by cause: the advice once, then one line for each producer.

A line opens to the evidence and the text for the producer's owner. A producer with several causes has a line
in the group of each, with the records of that cause. Its evidence is in the first of these groups.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from spark_reports.render import owners
from spark_reports.render.charts import sparkline
from spark_reports.render.lines import Lines, facts, folded
from spark_reports.render.tables import Column, Columns, breakable, bullets, tag
from spark_reports.report import causes, links, words
from spark_reports.report.causes import Cause, Sender
from spark_reports.report.headline import rejected_records
from spark_reports.report.notices import has_owner, notice
from spark_reports.report.shape import Example, Producer, Report
from tsproxy.model.markup import Content, Markup, element, join

LINES_SHOWN: Final = 5
"""The number of lines that a group shows. The others are folded into one entry that says how many there
are."""

EXAMPLES_SHOWN: Final = 3
SAYS_NOTHING: Final = "One or more records have been rejected due to invalid timestamp"
"""Kafka's text of each such rejection. It adds nothing to the cause."""
_ADDRESSES_SHOWN: Final = 4
_INDEXES_SHOWN: Final = 8


def producers(report: Report, rows: int) -> Markup:
    """The section of the first `rows` producers."""
    shown = report["producers"][:rows]
    found = causes.of_report(report)
    if not found:
        return element("p", "No producer had a record rejected.", class_="none")
    return join(
        element("p", "Click a producer for examples and a text for its owner.", class_="soft note opens"),
        *[_group(report, cause, rows, number == 0) for number, cause in enumerate(found)],
        _omitted(report, len(shown)),
    )


def _omitted(report: Report, shown: int) -> Markup | None:
    rest = report["producers"][shown:]
    more = report["producers_omitted"]["count"] + len(rest)
    if not more:
        return None
    rejected = report["producers_omitted"]["rejected_records"] + sum(p["rejected_records"] for p in rest)
    text = (
        f"And {words.many(more, 'more producer')} with {words.many(rejected, 'rejected record')}: counted "
        "above, not listed."
    )
    return element("p", text, class_="more")


def of_cause(report: Report, cause: Cause, rows: int) -> "list[SenderRow]":
    """The lines of a cause: those of its producers that are among the first `rows` of the report."""
    shown = {id(producer) for producer in report["producers"][:rows]}
    return [SenderRow(report, sender) for sender in cause.senders if id(sender.producer) in shown]


def _group(report: Report, cause: Cause, shown: int, has_heads: bool) -> Markup:
    rows = of_cause(report, cause, shown)
    rest = rows[LINES_SHOWN:]
    left = words.many(sum(row.sender.records for row in rest), "record")
    return element(
        "div",
        element("h3", words.sentence(cause.name)),
        element(
            "p",
            *[join(tag(*answer), " ") for answer in cause.answers],
            f"{cause.in_words(rejected_records(report['totals']))}. ",
            element("span", f"{words.sentence(cause.fix)}.", class_="fix"),
            f" Platform: {cause.platform}." if cause.platform else None,
            class_="soft",
        ),
        _LINES.on_page(rows[:LINES_SHOWN], has_heads=has_heads) if rows else None,
        folded(
            f"{words.many(len(rest), 'more producer')} with this cause: {left}",
            _LINES.on_page(rest, has_heads=False),
        )
        if rest
        else None,
        class_="cause",
    )


@dataclass(frozen=True, slots=True)
class SenderRow:
    """A producer in the group of one of its causes. `topic`: the topic whose page it is on, if any."""

    report: Report
    sender: Sender
    topic: str | None = None

    @property
    def producer(self) -> Producer:
        return self.sender.producer


def _details(row: SenderRow) -> Markup:
    return _evidence(row) if row.sender.is_main else _elsewhere(row.producer)


def _name(row: SenderRow) -> str:
    return words.application(row.producer, 80)


def _topic_names(row: SenderRow) -> str:
    return ", ".join(words.short(topic["topic"], 60) for topic in row.producer["topics"])


def _own(sender: Sender) -> Markup:
    """The share of all that the producer sent."""
    percent = 100 * sender.records / max(1, sender.producer["records"])
    return join(
        words.share(sender.records, sender.producer["records"]),
        element("span", element("span", style=f"width:{percent:.1f}%"), class_="meter", role="presentation"),
    )


def _topics(producer: Producer) -> Markup:
    more = producer["topics_count"] - 1
    return join(
        *[
            element("span", breakable(words.short(topic["topic"], 60)), class_="name")
            for topic in producer["topics"][:1]
        ],
        element("span", f"and {words.count(more)} more", class_="soft") if more > 0 else None,
    )


def _hours(producer: Producer, hours: Sequence[str]) -> Markup:
    values = producer["hours"]
    busiest = hours[values.index(max(values))] if values else ""
    active = sum(1 for value in values if value)
    label = f"rejected in {active} of {words.many(len(values), 'hour')}, most at {busiest[11:13]}:00"
    return sparkline(values, label)


COLUMNS: Final[Columns[SenderRow]] = (
    Column(
        "Producer",
        lambda row: words.producer(row.producer, 80),
        lambda row: element("strong", breakable(_name(row)), class_="client"),
    ),
    Column("#Rejected", lambda row: words.count(row.sender.records)),
    Column(
        "#Of what it sent",
        lambda row: words.share(row.sender.records, row.producer["records"]),
        lambda row: _own(row.sender),
    ),
    Column("Off by", lambda row: row.sender.drift),
    Column("Topics", _topic_names, lambda row: _topics(row.producer)),
    Column("Since", lambda row: words.since(row.report, row.producer)),
    Column("Hours (UTC)", None, lambda row: _hours(row.producer, row.report["hours"])),
)
_LINES: Final = Lines(
    "producers",
    COLUMNS,
    details=_details,
    anchor=lambda row: owners.producer_id(row.producer) if row.sender.is_main else None,
)


def lines(report: Report, own: Sequence[Producer], topic: str | None) -> Markup:
    """A line for each of these producers, with all its causes. `topic`: whose page it is, if any."""
    return _LINES.on_page([SenderRow(report, Sender(each, each["reasons"]), topic) for each in own])


def _elsewhere(producer: Producer) -> Markup:
    main = producer["reasons"][0]
    return facts(
        f"Most of its rejected records have another cause: {main['cause']}. Its evidence stands there.",
    )


def _evidence(row: SenderRow) -> Markup:
    report, producer = row.report, row.producer
    own = notice(report, producer) if has_owner(producer) else None
    return join(
        element("p", f"{_who(producer)} {_when(report, producer)}", *_topics_of(row), "."),
        _week(report, producer),
        facts(words.good_and_bad(producer), _others(producer), _instances(producer)),
        bullets([_example(example) for example in producer["examples"][:EXAMPLES_SHOWN]]),
        element("p", "Text for its owner, to copy:", class_="soft") if own else None,
        element("pre", own) if own else None,
    )


def _who(producer: Producer) -> str:
    names = [producer["principal"], *producer["client_software"][:2]]
    known = ", ".join(words.short(name, 80) for name in names if name)
    addresses = [words.short(address, 60) for address in producer["addresses"]]
    more = len(addresses) - _ADDRESSES_SHOWN
    sent = ", ".join(addresses[:_ADDRESSES_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return " ".join([*([f"{known}."] if known else []), *([f"Sent from {sent}."] if sent else [])])


def _when(report: Report, producer: Producer) -> str:
    first, last = (words.moment(report, producer[end]) for end in ("first_ts", "last_ts"))
    return f"Rejected between {first} and {last} UTC"


def _topics_of(row: SenderRow) -> Iterator[Content]:
    """The topics at which it was rejected, each with a link to its page, if that is another one."""
    producer = row.producer
    for number, topic in enumerate(producer["topics"]):
        yield ", " if number else ", topics: "
        is_here = topic["topic"] == row.topic
        yield words.short(topic["topic"], 60) if is_here else owners.topic_link(row.report, topic["topic"])
    more = producer["topics_count"] - len(producer["topics"])
    if producer["topics"] and more > 0:
        yield f" and {words.count(more)} more"


def _week(report: Report, producer: Producer) -> Markup | None:
    """The producer's last eight days, drawn and counted; None without a rollup."""
    week = producer["week"]
    if not week:
        return None
    last = date.fromisoformat(report["last_day"])
    first = last - timedelta(days=len(week) - 1)
    known = report["links"]
    before = links.relative(known["day_before"]) if known and any(week[-2:-1]) else None
    return element(
        "p",
        f"Rejected by day, {first.day} {first:%b} to {last.day} {last:%b}:",
        sparkline([each or 0 for each in week], "rejected records of each day"),
        f"{', '.join('unknown' if each is None else words.count(each) for each in week)}. ",
        element("a", "Its day before", href=f"{before}#{owners.producer_id(producer)}") if before else None,
    )


def _others(producer: Producer) -> str | None:
    """A sentence about the causes of a producer that has several."""
    causes = {reason["cause"]: 0 for reason in producer["reasons"]}
    if len(causes) < 2:
        return None
    for reason in producer["reasons"]:
        causes[reason["cause"]] += reason["records"]
    listed = "; ".join(f"{words.count(records)} {cause}" for cause, records in causes.items())
    return f"Its causes, by records: {listed}."


def _instances(producer: Producer) -> str | None:
    """A sentence about the clients of an application."""
    if producer["clients"] < 2:
        return None
    names = ", ".join(words.short(words.client(each), 80) for each in producer["instances"])
    more = producer["clients"] - len(producer["instances"])
    return f"Its clients: {names}{f' and {words.count(more)} more' if more > 0 else ''}."


def _example(example: Example) -> Markup:
    indexes = ", ".join(map(str, example["bad_index"][:_INDEXES_SHOWN]))
    more = ", …" if example["bad_records"] > min(len(example["bad_index"]), _INDEXES_SHOWN) else ""
    time = example["bad_ts"][0] if example["bad_ts"] else None
    where = f"{words.short(example['topic'], 80)}-{example['partition']}"
    message, cause = example["error_message"], example["cause"]
    part = f"{example['bad_records']} of {words.many(example['records'], 'record')}"
    return join(
        f"{words.instant_words(example['ts'])}, {where}: {part}",
        f" (index {indexes}{more})" if indexes else None,
        f", {cause}",
        join("; first timestamp ", element("code", str(time)), words.timestamp(time, example["read_as_ts"]))
        if time is not None
        else None,
        ". ",
        element("span", words.short(message), class_="soft") if message and message != SAYS_NOTHING else None,
    )
