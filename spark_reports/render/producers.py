"""The producers that were rejected, by cause: the advice once, then one line for each producer.

A line opens to the evidence and the text for the producer's owner. A producer with several causes has a line
in the group of each, with the records of that cause. Its evidence is in the first of these groups.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from spark_reports.render import drawings, parts, places
from spark_reports.report import causes, links, words
from spark_reports.report.causes import Cause, Sender
from spark_reports.report.headline import rejected_records
from spark_reports.report.notices import has_owner, notice
from spark_reports.report.shape import Example, Producer, Report
from tsproxy.model.markup import Markup
from tsproxy.model.outcome import VerdictName

LINES_SHOWN: Final = 5
"""The number of lines that a group shows. The others are folded into one entry that says how many there
are."""

EXAMPLES_SHOWN: Final = 3
SAYS_NOTHING: Final = "One or more records have been rejected due to invalid timestamp"
"""Kafka's text of each such rejection. It adds nothing to the cause."""
_ADDRESSES_SHOWN: Final = 4
_INDEXES_SHOWN: Final = 8


_HEADS: Final = ("Producer", "#Rejected", "#Of what it sent", "Off by", "Topics", "Since", "Hours (UTC)")


def by_cause(report: Report, rows: int) -> parts.Parts:
    """The first `rows` producers, in a group for each cause."""
    groups = causes.of_report(report)
    if not groups:
        return [parts.paragraph("No producer had a record rejected.", "none")]
    return [
        parts.paragraph("Click a producer for examples and a text for its owner.", "soft note opens"),
        *[_group(report, cause, rows, has_heads=cause is groups[0]) for cause in groups],
        _omitted(report, report["producers"][rows:]),
    ]


def _omitted(report: Report, rest: Sequence[Producer]) -> Markup | None:
    omitted = report["producers_omitted"]
    rejected = omitted["rejected_records"] + sum(producer["rejected_records"] for producer in rest)
    told = f" with {words.many(rejected, 'rejected record')}: counted above, not listed"
    return parts.more(omitted["count"] + len(rest), "producer", told)


def _group(report: Report, cause: Cause, rows: int, *, has_heads: bool) -> Markup:
    listed = {id(producer) for producer in report["producers"][:rows]}
    senders = [sender for sender in cause.senders if id(sender.producer) in listed]
    rest = senders[LINES_SHOWN:]
    left = words.many(sum(sender.records for sender in rest), "record")
    about = parts.paragraph(
        (
            *[(tag(*answer), " ") for answer in cause.answers],
            f"{cause.in_words(rejected_records(report['totals']))}. ",
            parts.text(f"{words.sentence(cause.fix)}.", "fix"),
            f" Platform: {cause.platform}." if cause.platform else None,
        ),
        "soft",
    )
    lines = parts.lines(
        "producers",
        _HEADS,
        [_line(report, sender) for sender in senders],
        has_heads=has_heads,
        folded=(LINES_SHOWN, f"{words.many(len(rest), 'more producer')} with this cause: {left}"),
    )
    return parts.group(words.sentence(cause.name), [about, lines], "cause")


def lines(report: Report, shown: Sequence[Producer]) -> Markup | None:
    """A line for each of these producers, with all its causes."""
    senders = [Sender(producer, producer["reasons"]) for producer in shown]
    return parts.lines("producers", _HEADS, [_line(report, sender) for sender in senders])


def tag(verdict: str, reason: str | None, error_code: int) -> Markup:
    """A coloured word for the reason, and for who rejected."""
    is_broker = verdict == VerdictName.BROKER_REJECTED
    word = words.REASON_WORDS.get(reason or "", "other")
    if is_broker and words.is_unspecific(reason):
        word = words.error_name(error_code).partition(" (")[0]
    text, look = (f"broker: {word}", "tag broker") if is_broker else (word, "tag ours")
    return parts.text(text, look)


def _topics(producer: Producer) -> parts.Content:
    names = tuple(parts.text(words.short(topic["topic"], 60), "name") for topic in producer["topics"][:1])
    more = producer["topics_count"] - 1
    return *names, parts.text(f" and {words.count(more)} more", "soft") if more > 0 else None


def _hours(producer: Producer, hours: Sequence[str]) -> Markup:
    values = producer["hours"]
    busiest = hours[values.index(max(values))] if values else ""
    active = sum(1 for value in values if value)
    label = f"rejected in {active} of {words.many(len(values), 'hour')}, most at {busiest[11:13]}:00"
    return drawings.spark(values, label)


def _line(report: Report, sender: Sender) -> parts.Line:
    """A producer in the group of one of its causes."""
    producer = sender.producer
    name = parts.text(words.application(producer, 80), "client")
    cells = (
        name,
        sender.records,
        (
            words.share(sender.records, producer["records"]),
            drawings.meter(sender.records, producer["records"]),
        ),
        sender.drift,
        _topics(producer),
        words.since(report, producer),
        _hours(producer, report["hours"]),
    )
    if sender.is_main:
        return parts.Line(cells, _evidence(report, producer), places.producer_id(producer))
    elsewhere = "Most of its rejected records have another cause"
    text = f"{elsewhere}: {producer['reasons'][0]['cause']}. Its evidence stands there."
    return parts.Line(cells, [parts.paragraph(text)], None)


def _evidence(report: Report, producer: Producer) -> parts.Parts:
    told = (words.good_and_bad(producer), _others(producer), _instances(producer))
    text = notice(report, producer) if has_owner(producer) else None
    return [
        parts.paragraph(f"{_who(producer)} {_when(report, producer)}{_topics_of(producer)}."),
        _week(report, producer),
        parts.paragraph(" ".join(filter(None, told))),
        parts.bullets([_example(example) for example in producer["examples"][:EXAMPLES_SHOWN]]),
        parts.paragraph("Text for its owner, to copy:", "soft") if text else None,
        parts.copied(text) if text else None,
    ]


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


def _topics_of(producer: Producer) -> str:
    """The topics at which it was rejected, behind a comma."""
    names = ", ".join(words.short(topic["topic"], 60) for topic in producer["topics"])
    left = producer["topics_count"] - len(producer["topics"])
    return f", topics: {names}{f' and {words.count(left)} more' if left > 0 else ''}" if names else ""


def _week(report: Report, producer: Producer) -> Markup | None:
    """The producer's last eight days, drawn and counted; None without a rollup."""
    week = producer["week"]
    if not week:
        return None
    known = report["links"]
    before = links.relative(known["day_before"]) if known and any(week[-2:-1]) else None
    return parts.paragraph(
        (
            f"Rejected by day, {span(report, week)}:",
            drawings.spark([records or 0 for records in week], "rejected records of each day"),
            f"{counts(week)}. ",
            parts.text("Its day before", link=f"{before}#{places.producer_id(producer)}") if before else None,
        )
    )


def span(report: Report, week: Sequence[int | None]) -> str:
    """`13 Nov to 20 Nov`: the days of which these are the numbers."""
    last = date.fromisoformat(report["last_day"])
    first = last - timedelta(days=len(week) - 1)
    return f"{first.day} {first:%b} to {last.day} {last:%b}"


def counts(week: Sequence[int | None]) -> str:
    return ", ".join("unknown" if records is None else words.count(records) for records in week)


def _others(producer: Producer) -> str | None:
    """A sentence about the causes of a producer that has several."""
    records = dict.fromkeys((reason["cause"] for reason in producer["reasons"]), 0)
    if len(records) < 2:
        return None
    for reason in producer["reasons"]:
        records[reason["cause"]] += reason["records"]
    listed = "; ".join(f"{words.count(number)} {cause}" for cause, number in records.items())
    return f"Its causes, by records: {listed}."


def _instances(producer: Producer) -> str | None:
    """A sentence about the clients of an application."""
    if producer["clients"] < 2:
        return None
    names = ", ".join(words.short(words.client(client), 80) for client in producer["instances"])
    more = producer["clients"] - len(producer["instances"])
    return f"Its clients: {names}{f' and {words.count(more)} more' if more > 0 else ''}."


def _example(example: Example) -> parts.Content:
    indexes = ", ".join(map(str, example["bad_index"][:_INDEXES_SHOWN]))
    more = ", …" if example["bad_records"] > min(len(example["bad_index"]), _INDEXES_SHOWN) else ""
    time = example["bad_ts"][0] if example["bad_ts"] else None
    where = f"{words.short(example['topic'], 80)}-{example['partition']}"
    message, cause = example["error_message"], example["cause"]
    part = f"{example['bad_records']} of {words.many(example['records'], 'record')}"
    read_as = (
        () if time is None else (parts.text(str(time), "code"), words.timestamp(time, example["read_as_ts"]))
    )
    return (
        f"{words.instant_words(example['ts'])}, {where}: {part}",
        f" (index {indexes}{more})" if indexes else None,
        f", {cause}",
        ("; first timestamp ", *read_as) if read_as else None,
        ". ",
        parts.text(words.short(message), "soft") if message and message != SAYS_NOTHING else None,
    )
