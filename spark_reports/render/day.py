"""The page of a day: whom to talk to, pictures of the day and the week, and the sections."""

from datetime import date
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.render import clients, compared, drawings, lists, parts, places, producers, worst
from spark_reports.report import history, links, missing, words
from spark_reports.report.causes import KINDS
from spark_reports.report.headline import bad_and_good, held, notes, sent_again_records
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup

_TEXT_CHARS: Final = 2_000
_PROOFS: Final = {
    State.COMPLETE: ("complete", "Log complete"),
    State.COMPLETE_IN_PART: ("partly", "The log covers only part of the time"),
    State.INCOMPLETE: ("incomplete", "Log incomplete: numbers are at least these"),
}
"""The look and the name of the mark."""
_MISSING_SHOWN: Final = 3
"""The sentences of each kind about missing parts of the log."""
_LABELS: Final = ("00", "06", "12", "18", "24")


def page(report: Report, rows: int) -> parts.Page:
    """The page with at most `rows` rows of each table."""
    first = [text for text in (bad_and_good(report["totals"]), report["kafka_4"]["sentence"]) if text]
    unfinished = parts.paragraph("The day is not over: numbers so far.", "soft")
    return of_report(
        report,
        report["headline"],
        [
            *[parts.paragraph(words.short(text, _TEXT_CHARS)) for text in first],
            None if report["is_over"] else unfinished,
            _proof(report),
        ],
        _sections(report, rows),
        neighbours(report),
    )


def of_report(
    report: Report, headline: str, head: parts.Parts, sections: parts.Parts, nav: Markup | None
) -> parts.Page:
    """A page of this report: its day, or a part of it."""
    days, headline = _days(report), words.short(headline, _TEXT_CHARS)
    title, kicker = f"tsproxy {days}: {headline}", f" daily report · {days} · UTC"
    return parts.Page(title, kicker, headline, head, sections, _foot(report), nav)


def _sections(report: Report, rows: int) -> parts.Parts:
    totals, trend = report["totals"], report["trend"]
    affected = f"{words.count(totals['producers_affected'])} of {words.many(totals['producers'], 'producer')}"
    changed = words.many(trend["changed_producers"], "producer") if trend else ""
    refused = report["refused_by_kafka_4"]
    topics = report["topics_omitted"]["count"] + len(report["topics"])
    past = [report["history"]["sentence"]] if report["history"] else []
    told = [words.short(text, _TEXT_CHARS) for text in [*notes(report), *past]]
    known = sum(1 for producer in report["producers"] if producer["known"])
    at_least = "at least " if report["producers_omitted"]["count"] else ""
    here = {*map(places.producer_id, report["producers"][:rows])}
    pictures = [picture for picture in (_by_hour(report), _week(report)) if picture]
    return [
        parts.section("talk", "Whom to talk to", worst.first(report, here), has_head=False),
        parts.group("", pictures, "pictures") if pictures else None,
        _balance(report),
        *map(parts.paragraph, held(report)),
        parts.section("producers", f"Rejected, by cause: {affected}", producers.by_cause(report, rows)),
        worst.owners(report, rows),
        parts.section("days", "The worst producers, day by day", worst.strips(report, here)),
        _closed("notes", "About these numbers", [parts.paragraph(text) for text in told]),
        _closed("trend", f"Who changed against the week before: {changed}", compared.trend(report, rows)),
        _closed("whatif", compared.what_if_title(report), compared.what_if(report)),
        *clients.sections(
            *(totals, report["would_reject"], report["repaired"], totals["records_repaired"], rows),
            is_closed=True,
        ),
        _closed(
            "refused",
            "Clients that Kafka 4 refuses by their protocol: "
            + words.many(len(words.clients(refused)), "client"),
            clients.refused_by_kafka_4(refused, rows),
        ),
        lists.open_ends(report),
        _closed(
            "topics",
            f"Topics and their limits: {words.many(topics, 'topic')}",
            lists.topics(report, rows),
        ),
        _closed(
            "rules",
            f"Rules and waivers: {words.many(len(report['rules']), 'row')}",
            lists.rules(report, rows),
        ),
        _closed(
            "log",
            f"The log behind this report: {words.many(report['log']['lines'], 'line')}",
            lists.log_quality(report),
        ),
        parts.section(
            "known",
            f"Known, and worked at: {at_least}{words.many(known, 'producer')}",
            worst.known(report, here, rows),
        ),
    ]


def _closed(name: str, title: str, content: parts.Parts) -> Markup | None:
    return parts.section(name, title, content, is_closed=True)


def _proof(report: Report) -> Markup:
    sentences: parts.Parts = [
        parts.paragraph(words.short(report["log"]["sentence"], _TEXT_CHARS)),
        parts.bullets(missing.sentences(report["log"], _MISSING_SHOWN), "missing soft"),
    ]
    return parts.proof(*_PROOFS[missing.state(report["log"])], sentences)


def _by_hour(report: Report) -> Markup | None:
    """Rejected records by hour and cause; None without rejections."""
    rows = report["cause_hours"]
    sums = [sum(hour) for hour in zip(*(row["rejected_records"] for row in rows), strict=True)]
    most = max(sums, default=0)
    if not most:
        return None
    busiest = words.moment(report, f"{report['hours'][sums.index(most)]}:00")
    is_one_day = report["first_day"] == report["last_day"]
    kinds = [row["kind"] if row["kind"] in KINDS else "others" for row in rows]
    return drawings.hours(
        f"Rejected by hour: most at {busiest}, {words.count(most)}",
        [(kind, KINDS[kind], row["rejected_records"]) for kind, row in zip(kinds, rows, strict=True)],
        _LABELS if is_one_day else (report["first_day"], report["last_day"]),
    )


def _week(report: Report) -> Markup | None:
    """The share of rejected records of each of eight days, on a scale of their own; None without a rollup."""
    past = report["history"]
    if past is None:
        return None
    most = max((history.share(day) for day in past["days"]), default=0) or 1.0
    bars = [
        (
            words.short(day["day"], 10),
            history.in_words(day) if day["records"] else "–",
            history.share(day) / most,
            None if day["is_compared"] else history.reason(day),
        )
        for day in past["days"]
    ]
    direction = history.DIRECTION_WORDS.get(past["direction"], "not compared")
    return drawings.days(f"Rejected by day: {direction}", bars)


def _balance(report: Report) -> Markup:
    """The outcomes of checked records, whose sum they are."""
    totals = report["totals"]
    outcomes = [
        (totals["records_accepted"], "accepted", "accepted"),
        (totals["records_repaired"], "repaired", "repaired"),
        (totals["records_rejected"], "rejected by tsproxy", "ours"),
        (totals["records_broker_rejected"], "rejected by the broker", "broker"),
        (totals["records_unconfirmed"], "unconfirmed", "unconfirmed"),
    ]
    again = words.many(sent_again_records(totals), "record")
    note = f"Not counted: {again} that failed with an error that most producers retry."
    return drawings.balance(
        totals["records_judged"],
        [outcome for outcome in outcomes if outcome[0]],
        note if sent_again_records(totals) else "",
    )


def neighbours(report: Report) -> Markup | None:
    """Links to the report of the day before, to that of the day after, and to all days; None without any."""
    known = report["links"]
    if known is None:
        return None
    named = (
        ("Day before", known["day_before"]),
        ("Day after", known["day_after"]),
        ("All days", known["index"]),
    )
    shown = [parts.text(name, link=links.relative(link)) for name, link in named if links.relative(link)]
    return parts.links("Other reports", shown) if shown else None


def _foot(report: Report) -> parts.Content:
    """When the page was made, and links to the files beside it: report.json (latest.json of a team) and
    report.csv."""
    made, known = report["generated_ts"], report["links"]
    exact, sheet = (links.relative(known[key]) if known else None for key in ("json", "csv"))
    return (
        f"Made {made[:10]} {made[11:16]} UTC. Exact numbers of everything shown: ",
        parts.text(exact, link=exact) if exact else "report.json",
        ". ",
        ("For a spreadsheet: ", parts.text("report.csv", link=sheet), ".") if sheet else None,
    )


def _days(report: Report) -> str:
    first, last = (date.fromisoformat(report[key]) for key in ("first_day", "last_day"))
    start = f"{first:%A}, {first.day} {first:%B %Y}"
    return start if first == last else f"{start} to {last.day} {last:%B %Y}"
