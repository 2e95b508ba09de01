"""report.html: one file that opens anywhere, with no network, no script and at most 300 KB.

Tables are as long as the file allows. The page counts the rows that it leaves out; report.json has them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.render import (
    compared,
    drifts,
    known,
    lists,
    navigation,
    owners,
    pictures,
    producers,
    repaired,
    rules,
    strips,
    talk,
)
from spark_reports.render.document import document
from spark_reports.render.tables import bullets
from spark_reports.report import missing, words
from spark_reports.report.headline import bad_and_good
from spark_reports.report.shape import Repaired, Report, Totals, WouldReject
from spark_reports.report.shape_for_readers import Team
from tsproxy.model.markup import Markup, element, join

MAX_BYTES: Final = 300_000
_ROWS: Final = (1_000, 200, 100, 50, 25, 10, 3, 1)

_TEXT_CHARS: Final = 2_000
_PROOF_WORDS: Final = {
    State.COMPLETE: "Log complete",
    State.COMPLETE_IN_PART: "The log covers only part of the time",
    State.INCOMPLETE: "Log incomplete: numbers are at least these",
}
_PROOF_CLASSES: Final = {
    State.COMPLETE: "complete",
    State.COMPLETE_IN_PART: "partly",
    State.INCOMPLETE: "incomplete",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page. Its title carries its number, since it may be closed."""

    name: str
    title: str
    content: Markup | None
    """None leaves the section out."""
    is_closed: bool = False
    """Closed until the reader opens it by its title, on paper too."""

    def on_page(self) -> Markup | None:
        if self.content is None:
            return None
        head = element("h2", self.title, id=self.name)
        parts = (
            [element("details", element("summary", head), self.content, class_="part")]
            if self.is_closed
            else [head, self.content]
        )
        return element("section", *parts, aria_labelledby=self.name)


def render(report: Report) -> str:
    """The page. Its tables are shortened until it is small enough."""
    return fitting(lambda rows: _page(report, rows))


def fitting(make: Callable[[int], str]) -> str:
    """The page with as many rows of its tables as the size allows."""
    pages = (make(rows) for rows in _ROWS)
    page = next((page for page in pages if len(page.encode("utf-8")) <= MAX_BYTES), None)
    return page if page is not None else make(0)


def _page(report: Report, rows: int) -> str:
    totals = report["totals"]
    first = talk.first(report, rows)
    top = [
        element("section", first, aria_label="Whom to talk to") if first else None,
        pictures.pictures(report),
        pictures.balance(report),
    ]
    affected = f"{words.count(totals['producers_affected'])} of {words.many(totals['producers'], 'producer')}"
    teams, trend = owners.rejected_teams(report), report["trend"]
    topics = report["topics_omitted"]["count"] + len(report["topics"])
    found = [
        Section("producers", f"Rejected, by cause: {affected}", producers.producers(report, rows)),
        Section("owners", f"By owner: {words.many(len(teams or ()), 'row')}", owners.owners(report, rows)),
        Section("days", "The worst producers, day by day", strips.strips(report, rows)),
        Section("drift", "How far timestamps were off", drifts.drift(report)),
        Section("words", "The day in words", pictures.in_words(report), is_closed=True),
        Section(
            "trend",
            f"Who changed against the week before: {words.many(len(trend['changes']), 'producer')}"
            if trend
            else "",
            compared.trend(report, rows),
            is_closed=True,
        ),
        Section("whatif", compared.what_if_title(report), compared.what_if(report), is_closed=True),
        *of_clients(
            totals,
            report["would_reject"],
            report["repaired"],
            totals["records_repaired"],
            rows,
            is_closed=True,
        ),
        Section(
            "refused",
            "Clients that Kafka 4 refuses by their protocol: "
            + words.many(len(words.clients(report["refused_by_kafka_4"])), "client"),
            compared.refused_by_kafka_4(report["refused_by_kafka_4"], rows),
            is_closed=True,
        ),
        Section(
            "reasons",
            f"Why records were rejected: {words.many(len(report['reasons']), 'reason')}",
            lists.reasons(report),
            is_closed=True,
        ),
        Section(
            "topics",
            f"Topics and their limits: {words.many(topics, 'topic')}",
            lists.topics(report, rows),
            is_closed=True,
        ),
        Section(
            "rules",
            f"Rules in force and waivers: {words.many(len(report['rules']), 'row')}",
            rules.rules(report, rows),
            is_closed=True,
        ),
        Section(
            "log",
            f"The log behind this report: {words.many(report['log']['lines'], 'line')}",
            lists.log_quality(report),
            is_closed=True,
        ),
        Section(
            "known",
            f"Known, and worked at: {words.many(len(known.producers(report)), 'producer')}",
            known.known(report, rows),
        ),
    ]
    return page(report, report["headline"], _head(report), top, found)


def of_clients(
    counts: Totals | Team,
    would_reject: Sequence[WouldReject],
    repairs: Sequence[Repaired],
    repaired_records: int,
    rows: int,
    *,
    is_closed: bool = False,
) -> list[Section]:
    """The sections of clients whose records were not rejected: of all, or of a team."""
    behind, watched = words.far_behind(would_reject)
    asked = counts["would_reject_records"], counts["would_reject_producers"]
    told = (
        ("watched", "What rules in audit would reject", compared.how_many(*asked)),
        ("behind", "Far behind the clock", words.many(counts["far_behind_records"], "record")),
        ("repaired", "Repaired", compared.how_many(repaired_records, counts["repaired_producers"])),
    )
    contents = (
        compared.watched_table(watched[:rows], *asked),
        compared.behind_table(behind[:rows], counts["far_behind_records"]),
        repaired.repaired(repairs[:rows], repaired_records),
    )
    return [
        Section(name, f"{title}: {number}", content, is_closed)
        for (name, title, number), content in zip(told, contents, strict=True)
    ]


def page(
    report: Report, title: str, head: Markup, top: Sequence[Markup | None], sections: Sequence[Section]
) -> str:
    """A page of this report: its head, its first screen, its sections."""
    main = element("main", *top, *[section.on_page() for section in sections])
    told = f"tsproxy {_days(report)}: {words.short(title, _TEXT_CHARS)}"
    return document(told, join(head, main, _foot(report)))


def kicker(report: Report) -> Markup:
    return element("p", element("b", "tsproxy"), f" daily report · {_days(report)} · UTC", class_="kicker")


def _head(report: Report) -> Markup:
    unfinished = element("p", "The day is not over: numbers so far.", class_="soft")
    return element(
        "header",
        kicker(report),
        navigation.neighbours(report),
        element("h1", words.short(report["headline"], _TEXT_CHARS)),
        element("p", parts) if (parts := bad_and_good(report["totals"])) else None,
        element("p", words.short(told, _TEXT_CHARS)) if (told := report["kafka_4"]["sentence"]) else None,
        None if report["is_over"] else unfinished,
        _proof(report),
    )


def _proof(report: Report) -> Markup:
    """The completeness of the log as one mark, which opens to the sentence about it."""
    proof = missing.state(report["log"])
    return element(
        "details",
        element(
            "summary",
            element("span", "✓" if proof is State.COMPLETE else "!", aria_hidden="true"),
            _PROOF_WORDS[proof],
        ),
        element("p", words.short(report["log"]["sentence"], _TEXT_CHARS)),
        bullets(missing.in_short(report["log"]), "missing soft"),
        class_=f"proof {_PROOF_CLASSES[proof]}",
    )


def _days(report: Report) -> str:
    first, last = (date.fromisoformat(report[key]) for key in ("first_day", "last_day"))
    start = f"{first:%A}, {first.day} {first:%B %Y}"
    return start if first == last else f"{start} to {last.day} {last:%B %Y}"


def _foot(report: Report) -> Markup:
    made = report["generated_ts"]
    return element("footer", element("p", f"Made {made[:10]} {made[11:16]} UTC. ", navigation.files(report)))
