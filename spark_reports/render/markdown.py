"""report.md: the same report for tickets, wikis and chat. Tables are GitHub's; the log's text is escaped."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from spark_reports.render import compared, lists, owners, producers, repaired, rules
from spark_reports.render.balance import parts_of, sent_again
from spark_reports.render.tables import Columns, Row
from spark_reports.report import causes, missing, words
from spark_reports.report.causes import Cause
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import ReasonRow, Report, Topic
from spark_reports.report.topics import SIDE_WORDS, named_side, other_limits, worst_producers
from tsproxy.decisions.text import bounded

_ROWS: Final = 25
_TEXT_CHARS: Final = 2_000
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def escape(text: str) -> str:
    """The text in a form that Markdown shows as it is: no link, no markup, no end of a table's cell.

    `&` and `<` become entities, because HTML inside Markdown is HTML. Unprintable characters, line ends
    among them, are escaped as in the decision log.
    """
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
    written = _SPECIAL.sub(lambda found: entities.get(found[1], f"\\{found[1]}"), bounded(text, _TEXT_CHARS))
    # Most renderers make an address in plain text a link. A client's id must not become one.
    return written.replace("://", ":&#8203;//").replace("www.", "www&#8203;.").replace("@", "&#64;")


def render(report: Report) -> str:
    """The page's facts in Markdown."""
    parts = [
        f"# tsproxy daily report, {words.days(report)} (UTC)",
        f"**{escape(report['headline'])}**",
        "\n".join(f"* {escape(sentence)}" for sentence in report["details"]),
        escape(found["sentence"]) if (found := report["history"]) else "",
        escape(report["log"]["sentence"]),
        "\n".join(f"* {escape(sentence)}" for sentence in missing.in_short(report["log"])),
        "" if report["is_over"] else "The day is not over: numbers so far.",
        _balance(report),
        "## Producers to talk to",
        _producers(report),
        _owners(report),
        "## Why records were rejected",
        _reasons(words.by_outcome(report["reasons"])[0]) or "Nothing was rejected.",
        *_not_settled(report),
        _changes(report),
        _what_if(report),
        _watched(report),
        _far_behind(report),
        _refused(report),
        _repaired(report),
        _topics(report),
        _rules(report),
        _missing(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _balance(report: Report) -> str:
    checked = report["totals"]["records_judged"]
    rows = [
        ("", "records", "share"),
        ("---", "---", "---"),
        ("records checked", words.count(checked), ""),
        *(
            (text, words.count(records), escape(words.share(records, checked)))
            for records, text, _ in parts_of(report["totals"])
        ),
    ]
    again = sent_again(report["totals"])
    return _lines(rows) + (f"\n\n{again}" if again else "")


def _table(columns: Columns[Row], rows: Sequence[Row]) -> str:
    """The first rows, and how many more there are; empty without rows."""
    if not rows:
        return ""
    texts = [(each.name, each.text) for each in columns if each.text is not None]
    cells = [[escape(text(row)) for _, text in texts] for row in rows[:_ROWS]]
    heads = [name[:1].lower() + name[1:] for name, _ in texts]
    more = f"\n\nAnd {words.count(len(rows) - _ROWS)} more in report.json." if len(rows) > _ROWS else ""
    return _lines([heads, ["---"] * len(texts), *cells]) + more


def _lines(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _section(title: str, *parts: str) -> str:
    """The parts that are not empty, below their title; empty without any."""
    found = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *found]) if found else ""


def _producers(report: Report) -> str:
    """A table for each cause, with its advice above it."""
    found = causes.of_report(report)
    if not found:
        return "No producer had a record rejected."
    more = report["producers_omitted"]["count"] + max(0, len(report["producers"]) - _ROWS)
    rest = [f"And {words.many(more, 'more producer')}, in no table above."] if more else []
    return "\n\n".join([*[_group(report, cause) for cause in found], *rest])


def _group(report: Report, cause: Cause) -> str:
    table = _table(producers.COLUMNS, producers.of_cause(report, cause, _ROWS))
    advice = f"{escape(words.sentence(cause.fix))}. "
    numbers = escape(cause.in_words(rejected_records(report["totals"])))
    platform = f" Platform: {escape(cause.platform)}." if cause.platform else ""
    return f"### {escape(words.sentence(cause.name))}\n\n{advice}{numbers}.{platform}\n\n{table}".rstrip()


def _owners(report: Report) -> str:
    """The teams with producers that were rejected; nothing without `--owners`."""
    table = _table(owners.COLUMNS, owners.owned_teams(report))
    return _section("By owner", table, owners.left_out_of(report)) if table else ""


def _reasons(rows: Sequence[ReasonRow]) -> str:
    return _table(lists.REASONS, rows)


def _not_settled(report: Report) -> Iterator[str]:
    _, open_, again = words.by_outcome(report["reasons"])
    if open_:
        yield f"### Rejected or sent again: nobody can tell\n\n{words.OPEN}\n\n{_reasons(open_)}"
    if again:
        yield f"### Sent again by the producer\n\n{words.SENT_AGAIN}\n\n{_reasons(again)}"


def _changes(report: Report) -> str:
    trend = report["trend"]
    table = _table(compared.changes(trend), trend["changes"]) if trend is not None else ""
    return _section("Who changed against the week before", table)


def _what_if(report: Report) -> str:
    return _section(
        "What other limits would reject",
        *words.left_out(report["what_if"]["records_left_out"]),
        _table(compared.WHAT_IF, compared.limits(report["what_if"])),
    )


def _watched(report: Report) -> str:
    _, found = words.far_behind(report["would_reject"])
    totals = report["totals"]
    all_ = compared.how_many(totals["would_reject_records"], totals["would_reject_producers"])
    table = _table(compared.WATCHED, found)
    return _section("What rules in audit would reject", f"In all: {all_}.", table) if table else ""


def _far_behind(report: Report) -> str:
    found, _ = words.far_behind(report["would_reject"])
    table = _table(compared.WATCHED, found)
    return _section("Far behind the clock", words.FAR_BEHIND, table) if table else ""


def _refused(report: Report) -> str:
    uses = "\n".join(f"* {escape(words.old_use(row))}" for row in report["refused_by_kafka_4"])
    return _section("Clients that Kafka 4 refuses by their protocol", uses)


def _repaired(report: Report) -> str:
    table = _table(repaired.COLUMNS, report["repaired"])
    return _section("Repaired", f"In all: {repaired.in_all(report)}.", table) if table else ""


def _rules(report: Report) -> str:
    """Rules that some batches violated, and the configuration of processes that started or reloaded."""
    starts = "\n".join(
        f"* {escape(rules.started(each))}" for each in report["in_force"][: rules.STARTS_SHOWN]
    )
    return _section("Rules in force and waivers", _table(rules.COLUMNS, report["rules"]), starts)


def _topics(report: Report) -> str:
    rows = lists.topics_of(report)[:_ROWS]
    more = report["topics_omitted"]["count"] + len(report["topics"]) - len(rows)
    rest = f"And {words.many(more, 'more topic')}." if more else ""
    parts = (_table(lists.TOPICS, rows), rest, _topics_in_words([row.topic for row in rows]))
    return _section("Topics and their limits", *parts)


def _topics_in_words(topics: Sequence[Topic]) -> str:
    """The worst producers of each topic, and the records that other limits would reject."""
    lines = []
    for topic in topics:
        known = {side: [limit.text for limit in other_limits(topic, side)] for side in SIDE_WORDS}
        limits = [f"{named_side(topic, side)}: {'; '.join(texts)}." for side, texts in known.items() if texts]
        if found := " ".join(filter(None, (worst_producers(topic), *limits))):
            lines.append(f"* {escape(words.short(topic['topic'], 80))}: {escape(found)}")
    return "\n".join(lines)


def _missing(report: Report) -> str:
    items = "\n".join(f"* {escape(sentence)}" for sentence in missing.sentences(report["log"]))
    return _section("What is missing in the log", items)
