"""report.md: the same report for tickets, wikis and chat. Tables are GitHub's; the log's text is escaped."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from spark_reports.render import owners
from spark_reports.render.balance import parts_of, sent_again
from spark_reports.render.plain import in_markdown
from spark_reports.render.rules import started
from spark_reports.report import missing, words
from spark_reports.report.causes import Group, Sender, by_cause
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import ReasonRow, Report, Topic, WouldReject
from spark_reports.report.topics import SIDE_WORDS, named_side, other_limits, worst_producers
from spark_reports.report.what_if import KAFKA_4_AFTER_MS, in_short
from tsproxy.decisions.text import bounded

_ROWS: Final = 25
_STARTS: Final = 10
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
        escape(found["sentence"]) if (found := report.get("history")) else "",
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
        *_plain(report),
        "## Topics and their limits",
        _topics(report),
        _rules(report),
        _missing(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _balance(report: Report) -> str:
    checked = report["totals"]["records_judged"]
    rows = [
        ("records checked", words.count(checked), ""),
        *(
            (text, words.count(records), escape(words.share(records, checked)))
            for records, text, _ in parts_of(report["totals"])
        ),
    ]
    again = sent_again(report["totals"])
    return _table(("", "records", "share"), rows) + (f"\n\n{again}" if again else "")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _producers(report: Report) -> str:
    """A table for each cause, with its advice above it."""
    if not report["producers"]:
        return "No producer had a record rejected."
    shown = report["producers"][:_ROWS]
    groups = [_group(report, group) for group in by_cause(shown)]
    more = report["producers_omitted"]["count"] + len(report["producers"]) - len(shown)
    rest = [f"And {words.many(more, 'more producer')}, in no table above."] if more else []
    return "\n\n".join([*groups, *rest])


def _group(report: Report, group: Group) -> str:
    heads = ("producer", "rejected", "of what it sent", "off by", "since", "topics")
    table = _table(heads, [_sender_row(report, sender) for sender in group.senders])
    advice = f"{escape(words.sentence(group.fix))}. "
    numbers = escape(group.in_words(rejected_records(report["totals"])))
    return f"### {escape(words.sentence(group.cause))}\n\n{advice}{numbers}.\n\n{table}"


def _sender_row(report: Report, sender: Sender) -> tuple[str, ...]:
    producer = sender.producer
    principal = f" ({escape(words.short(producer['principal'], 60))})" if producer["principal"] else ""
    return (
        f"**{escape(words.short(words.client(producer['client_id']), 80))}**{principal}",
        words.count(sender.records),
        escape(words.share(sender.records, producer["records"])),
        sender.drift,
        words.moment(report, producer["first_ts"]),
        escape(", ".join(words.short(topic["topic"], 60) for topic in producer["topics"])),
    )


def _owners(report: Report) -> str:
    """The teams with producers that were rejected; nothing without `--owners`."""
    teams = owners.rejected_teams(report)
    if not teams:
        return ""
    rows = [
        (
            escape(words.team(team["team"])),
            escape(words.short(team["channel"] or "–", 80)),
            words.count(team["producers"]),
            words.count(team["rejected_records"]),
        )
        for team in teams[:_ROWS]
    ]
    table = _table(("team", "channel", "producers", "rejected records"), rows) + _more(len(teams))
    return "\n\n".join(["## By owner", table, *([text] if (text := owners.left_out_of(report)) else [])])


def _reasons(rows: Sequence[ReasonRow]) -> str:
    heads = ("by", "cause", "error", "producers", "batches", "records", "bad", "good in the same batches")
    lines = [
        (
            words.VERDICT_WORDS.get(row["verdict"], row["verdict"]),
            escape(row["cause"]),
            escape(words.error_name(row["error_code"])),
            *(words.count(n) for n in (row["producers"], row["batches"], row["records"], row["bad_records"])),
            words.count(row["collateral_records"]),
        )
        for row in rows
    ]
    return _table(heads, lines) if lines else ""


def _not_settled(report: Report) -> Iterator[str]:
    _, open_, again = words.by_outcome(report["reasons"])
    if open_:
        yield f"### Rejected or sent again: nobody can tell\n\n{words.OPEN}\n\n{_reasons(open_)}"
    if again:
        yield f"### Sent again by the producer\n\n{words.SENT_AGAIN}\n\n{_reasons(again)}"


def _changes(report: Report) -> str:
    trend = report["trend"]
    if trend is None or not trend["changes"]:
        return ""
    heads = ("producer", "change", "rejected that day", "in the days before")
    rows = [
        (
            escape(words.short(words.client(change["client_id"]), 80)),
            escape(words.CHANGE_WORDS.get(change["kind"], change["kind"])),
            words.count(change["rejected_records"]),
            words.count(change["rejected_before"]),
        )
        for change in trend["changes"][:_ROWS]
    ]
    return f"## Who changed against the week before\n\n{_table(heads, rows)}"


def _what_if(report: Report) -> str:
    """The records that limits which people use would reject, among all records."""
    whole = report["what_if"]["records"]
    rows = [
        (
            words.duration(limit_ms) + (", Kafka 4's default ahead" if limit_ms == KAFKA_4_AFTER_MS else ""),
            *(escape(f"{words.count(n)} ({words.share(n, whole)})") for n in (ahead, behind)),
        )
        for limit_ms, ahead, behind in in_short(report["what_if"])
    ]
    if not rows:
        return ""
    table = _table(("limit", "farther ahead", "farther behind"), rows)
    return f"## What other limits would reject\n\n{table}"


def _watched(report: Report) -> str:
    """Batches that were forwarded and only counted."""
    _, found = words.far_behind(report["would_reject"])
    return f"## What rules in audit would reject\n\n{_only_counted(found)}" if found else ""


def _far_behind(report: Report) -> str:
    """Likely mistakes that no rule rejects."""
    found, _ = words.far_behind(report["would_reject"])
    return f"## Far behind the clock\n\n{words.FAR_BEHIND}\n\n{_only_counted(found)}" if found else ""


def _only_counted(found: Sequence[WouldReject]) -> str:
    heads = ("producer", "topic", "rule", "why, and what to do", "records", "bad")
    rows = [
        (
            escape(words.short(words.client(row["client_id"]), 80)),
            escape(words.short(row["topic"], 60)),
            escape(words.rule(row["rule"]) + words.waiver(row, ", waiver ")),
            escape(f"{row['cause']}: {row['fix']}"),
            words.count(row["records"]),
            words.count(row["bad_records"]),
        )
        for row in found[:_ROWS]
    ]
    return _table(heads, rows) + _more(len(found))


def _plain(report: Report) -> Iterator[str]:
    for title, heads, rows in in_markdown(report):
        shown = [(escape(name), *others) for name, *others in rows[:_ROWS]]
        yield f"## {title}\n\n{_table(heads, shown)}{_more(len(rows))}"


def _more(count: int) -> str:
    return f"\n\nAnd {words.count(count - _ROWS)} more in report.json." if count > _ROWS else ""


def _rules(report: Report) -> str:
    """Rules that some batches violated, and the configuration of processes that started or reloaded."""
    heads = ("rule", "mode", "waiver", "batches", "records", "bad", "rejected")
    rows = [
        (
            escape(words.rule(row["rule"])),
            escape(words.short(row["mode"] or "–", 20)),
            escape(words.short(row["waiver"] or "–", 60)),
            *(words.count(row[name]) for name in ("batches", "records", "bad_records", "rejected_records")),
        )
        for row in report["rules"][:_ROWS]
    ]
    starts = "\n".join(f"* {escape(started(each))}" for each in report["in_force"][:_STARTS])
    parts = [part for part in (_table(heads, rows) if rows else "", starts) if part]
    return "\n\n".join(["## Rules in force and waivers", *parts]) if parts else ""


def _topics(report: Report) -> str:
    limits = words.limits_by_topic(report["limits"])
    heads = (
        *("topic", "oldest / newest allowed", "checked", "accepted", "rejected by tsproxy"),
        *("rejected by the broker", "unconfirmed"),
    )
    shown = report["topics"][:_ROWS]
    more = report["topics_omitted"]["count"] + len(report["topics"]) - len(shown)
    table = _table(heads, [_topic_row(topic, limits.get(topic["topic"], ["–"])) for topic in shown])
    rest = f"And {words.many(more, 'more topic')}." if more else ""
    return "\n\n".join(part for part in (table, rest, _topics_in_words(shown)) if part)


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
    return f"## What is missing in the log\n\n{items}" if items else ""


def _topic_row(topic: Topic, limits: Sequence[str]) -> tuple[str, ...]:
    return (
        escape(words.short(topic["topic"], 80)),
        ", ".join(limits),
        words.count(topic["records_judged"]),
        words.count(topic["records_accepted"] + topic["records_repaired"]),
        words.count(topic["records_rejected"]),
        words.count(topic["records_broker_rejected"]),
        words.count(topic["records_unconfirmed"]),
    )
