"""Texts for the owners of producers: the rejected records, the cause, its fix, and one example.

With `--owners`, the texts for one team are one letter (`letters`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spark_reports.report import words
from spark_reports.report.links import channel_link, page, slug
from spark_reports.report.shape import Producer, Repaired, Report, WouldReject
from spark_reports.report.shape_for_readers import Team
from tsproxy.model.policy import CANDIDATE

_LISTED: Final = 10
"""The most topics and rules in the text for one client. report.json holds more."""


def notices(report: Report) -> list[str]:
    """One text for each producer of the report, the worst first. Then one for each client whose records a
    rule in audit, or the candidate limits, would have rejected, and for each that a rule repaired."""
    return [text for _, text in [*_rejected(report), *_watched_texts(report), *_repaired(report)]]


def grouped(report: Report) -> list[str]:
    """The texts of `notices`. With owners, the texts for one team are one text, below a line with the team's
    name."""
    return notices(report) if report["owners"] is None else [each.printed for each in letters(report)]


_HELP: Final = (
    'How to find and fix this: the page "My producer is refused" of tsproxy (docs/guide/for-producers.md).\n'
    "If old records must pass for a while, ask the people who run tsproxy for a waiver."
)
"""The end of a letter, if the file of owners has no `help`."""


@dataclass(frozen=True, slots=True)
class Letter:
    """The texts for one team, or for nobody (`team["team"]` is null)."""

    file_name: str
    """Safe for every file system, and different for different teams."""
    head: str
    """The team, its channel, and the number of its records that were, or would be, rejected: one line."""
    body: str
    """Its texts."""
    to: str

    subject: str

    @property
    def printed(self) -> str:
        """The texts for a terminal, below a line with the team."""
        return f"== {self.head} ==\n\n{self.body}"

    @property
    def text(self) -> str:
        """The text of a file: the headers of a mail, the line with the team, the texts."""
        headers = f"To: {self.to}\nSubject: {self.subject}\nContent-Type: text/plain; charset=utf-8\n"
        return f"{headers}\n{self.head}\n\n{self.body}"


def letters(report: Report) -> list[Letter]:
    """A letter for each team of `report.owners` that has a text, the one with most rejected records first."""
    owned = report["owners"]
    if owned is None:
        return []
    asked = (_rejected(report), _watched_texts(report), _repaired(report))
    rejected, watched, repaired = map(_by_team, asked)
    named, found = _named(report), []
    for row in owned["teams"]:
        own = rejected.get(row["team"], [])
        others = [*watched.get(row["team"], []), *repaired.get(row["team"], [])]
        if own or others or row["producers"]:
            rest = [
                *_left_out(row, len(own), named.get(row["team"], Counter())),
                *_page_of(report, row["team"]),
            ]
            letter = _letter(report, row, [*own, *others, *rest])
            found.append(replace(letter, body=f"{letter.body}\n{owned['help'] or _HELP}\n"))
    return found


def _summary(team: Team) -> tuple[str, str]:
    """The outcome of a team's records with their number, and the same with the number of its producers."""
    counted = team["would_reject_records"]
    if team["repaired_records"] and not (team["producers"] or counted or team["far_behind_records"]):
        outcome, records, producers = "repaired", team["repaired_records"], team["repaired_producers"]
    elif team["rejected_records"] or not (counted or team["far_behind_records"]):
        outcome, records, producers = "rejected", team["rejected_records"], team["producers"]
    elif not counted:
        told = f"{words.many(team['far_behind_records'], 'record')} far behind the clock"
        return told, told
    else:
        outcome, records, producers = "would be rejected", counted, team["would_reject_producers"]
    of_all = f"{words.many(records, 'record')} of {words.many(producers, 'producer')}"
    return f"{words.many(records, 'record')} {outcome}", f"{of_all} {outcome}"


def _by_team(texts: Iterable[tuple[str | None, str]]) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    for team, text in texts:
        found.setdefault(team, []).append(text)
    return found


def _letter(report: Report, team: Team, texts: Sequence[str]) -> Letter:
    """The letter to a team."""
    name, summary = words.team(team["team"]), _summary(team)
    channel = words.short(team["channel"] or "")
    link = channel_link(team["channel"]) or ""
    to = link.removeprefix("mailto:") if link.startswith("mailto:") else channel or name
    head = f"{name}{f', {channel}' if channel else ''}: {summary[1]}"
    return Letter(
        file_name=f"{_days(report)}-{_file_slug(team['team'])}.txt",
        head=f"{words.days(report)} (UTC), {head}",
        body="\n".join(texts),
        to=to,
        subject=f"tsproxy, {words.days(report)}: {summary[0]}",
    )


def _left_out(team: Team, texts: int, named: Counter[str]) -> list[str]:
    """Sentences about the team's producers without a text, and the records that no text names. `texts`: the
    number of texts about rejected producers. `named`: the records that texts name."""
    found = []
    if more := team["producers"] - texts:
        records = words.many(team["rejected_records"] - named["rejected"], "rejected record")
        producers = words.many(more, "more producer")
        found.append(f"And {producers} with {records}, without a text here; `daily --top N` lists more.\n")
    if counted := team["would_reject_records"] - named["counted"]:
        found.append(f"And {words.many(counted, 'more record')} would be rejected, without a text here.\n")
    return found


def _named(report: Report) -> dict[str | None, Counter[str]]:
    """The records that the texts for each team name."""
    found: dict[str | None, Counter[str]] = {}
    for producer in filter(has_owner, report["producers"]):
        own = found.setdefault(producer["team"], Counter())
        own.update(rejected=producer["rejected_records"])
    for row in filter(has_owner, words.far_behind(report["would_reject"])[1]):
        found.setdefault(row["team"], Counter()).update(counted=row["records"])
    return found


def _page_of(report: Report, team: str | None) -> list[str]:
    """A line with the address of the team's page, if readers find the pages somewhere (`--address`)."""
    known = report["links"]
    if not known or known["pages"] is not True or not known["address"]:
        return []
    return [f"Evidence, and the days before: {known['address']}/{page('team', team)}\n"]


def _days(report: Report) -> str:
    return words.days(report).replace(" to ", "_")


def letter_names(report: Report) -> re.Pattern[str]:
    """A pattern for the file names of all letters of these days, also to other teams."""
    return re.compile(rf"{re.escape(_days(report))}-(?:no-owner|(?:[a-z0-9-]+-)?[0-9a-f]{{16}})\.txt")


def _file_slug(team: str | None) -> str:
    return "no-owner" if team is None else slug(team)


def _rejected(report: Report) -> list[tuple[str | None, str]]:
    """The team and the text of each producer of the report."""
    return [
        (producer["team"], notice(report, producer))
        for producer in report["producers"]
        if has_owner(producer)
    ]


def _watched_texts(report: Report) -> list[tuple[str | None, str]]:
    """The team and the text of each client whose records were only counted."""
    watched: dict[tuple[str | None, str | None], list[WouldReject]] = {}
    for row in report["would_reject"]:
        if has_owner(row):
            watched.setdefault((row["client_id"], row["principal"]), []).append(row)
    return [(rows[0]["team"], _warning(report, rows)) for rows in watched.values()]


def _repaired(report: Report) -> list[tuple[str | None, str]]:
    """The team and the text of each client that a rule repaired."""
    found: dict[tuple[str | None, str | None], list[Repaired]] = {}
    for row in filter(has_owner, report["repaired"]):
        found.setdefault((row["client_id"], row["principal"]), []).append(row)
    return [(rows[0]["team"], _repair(report, rows)) for rows in found.values()]


def _repair(report: Report, rows: Sequence[Repaired]) -> str:
    """The text for the owner of records that arrive with other timestamps than it sends."""
    records = words.many(sum(row["bad_records"] for row in rows), "record")
    lines = [
        _to(rows[0]),
        f"On {words.days(report)} (UTC) tsproxy rewrote the timestamps of {records} of yours. Please correct "
        "them where they are made:",
        *[f"* {words.count(row['bad_records'])} by the rule {words.rule(row['rule'])}: {row['cause']}: "
          f"{row['fix']}." for row in rows],
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def has_owner(producer: Producer | WouldReject | Repaired) -> bool:
    """False for the row in which the proxy counted many clients together."""
    return producer["client_id"] != words.FOLDED


def notice(report: Report, producer: Producer) -> str:
    """The text for one owner, plain and printable: it may go into a mail, a chat or a ticket."""
    rejected, own = producer["rejected_records"], producer["records"]
    were = "was" if rejected == 1 else "were"
    lines = [
        _to(producer),
        f"On {words.days(report)} (UTC) {words.many(rejected, 'record')} of yours {were} rejected, "
        f"{words.share(rejected, own)} of what you sent.{_good_ones(producer['collateral_records'])}",
        *[f"* {reason['cause']}: {reason['fix']}." for reason in producer["reasons"]],
        _topics(report, producer),
    ]
    if producer["addresses"]:
        lines.append(f"Sent from {', '.join(words.short(text, 60) for text in producer['addresses'])}.")
    return "\n".join([*lines, *_example(producer)]) + "\n"


def _warning(report: Report, rows: Sequence[WouldReject]) -> str:
    """The text for the owner of records that were forwarded, and would be rejected if the rules were
    enforced."""
    lines = [_to(rows[0])]
    beginning = f"On {words.days(report)} (UTC) these records of yours were forwarded"
    behind, watched = words.far_behind(rows)
    if watched:
        lines.append(
            f"{beginning} and only counted. They would be rejected if the rules below were enforced:"
        )
        lines += _listed(watched, _watched)
    if behind:
        lines.append(
            f"{beginning}. They lie so far behind the clock that a mistake is likely. Nothing rejects them; "
            "a topic that deletes by time deletes them at once:"
        )
        lines += _listed(behind, _so_old)
    return "\n".join(lines) + "\n"


def _listed(rows: Sequence[WouldReject], told: Callable[[WouldReject], str]) -> list[str]:
    rest = rows[_LISTED:]
    records = words.many(sum(row["records"] for row in rest), "record")
    more = [f"And {words.count(len(rest))} more like this, with {records}."] if rest else []
    return [*map(told, rows[:_LISTED]), *more]


def _so_old(row: WouldReject) -> str:
    records, topic = words.many(row["bad_records"], "record"), words.short(row["topic"], 60)
    return f"* {records} to {topic}: {row['cause']}: {row['fix']}."


def _watched(row: WouldReject) -> str:
    records, topic = words.many(row["records"], "record"), words.short(row["topic"], 60)
    by = f"the rule {words.rule(row['rule'])}"
    if row["rule"] == CANDIDATE:
        by = "the candidate limits (Kafka 4's own, unless others are configured)"
    waiver = words.waiver(row, ", held back by the waiver ")
    return f"* {records} to {topic}, by {by}{waiver}: {row['cause']}: {row['fix']}."


def _to(client: Producer | WouldReject | Repaired) -> str:
    return f"To the owner of {words.producer(client)}:"


def _good_ones(collateral: int) -> str:
    if not collateral:
        return ""
    were = "was" if collateral == 1 else "were"
    return (
        f" {words.count(collateral)} of them {were} good, and rejected with others of the same batch: "
        "Kafka rejects whole batches."
    )


def _topics(report: Report, producer: Producer) -> str:
    """The topics, each with its latest known limits."""
    limits = words.limits_by_topic(report["limits"])
    topics, meaning = [], ""
    for topic in producer["topics"]:
        text = words.short(topic["topic"], 60)
        if known := limits.get(topic["topic"]):
            text, meaning = f"{text} ({known[-1]})", " (oldest / newest allowed)"
        topics.append(text)
    more = producer["topics_count"] - len(topics)
    return f"Topics{meaning}: {', '.join(topics)}{f' and {words.count(more)} more' if more > 0 else ''}."


def _example(producer: Producer) -> list[str]:
    found = next((example for example in producer["examples"] if example["bad_ts"]), None)
    if found is None:
        return []
    return [
        f"For example at {words.instant_words(found['ts'])}, topic {words.short(found['topic'], 60)}, "
        f"partition {found['partition']}: a record carried {found['bad_ts'][0]}"
        f"{words.timestamp(found['bad_ts'][0], found['read_as_ts'])}."
    ]
