"""The page's two pictures: the butterfly of drifts, and topics by hour."""

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby
from typing import Final

from spark_reports.render import charts
from spark_reports.render.charts import Mark
from spark_reports.render.tables import legend
from spark_reports.report import words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Report, TopicHours
from tsproxy.model.markup import Markup, element, join

_CELLS: Final = 700
"""The most cells of the heat map. A longer period shows fewer topics."""


def drift(report: Report) -> Markup:
    """The butterfly, with the limits in force and the places of unit mistakes."""
    if not report["drift"]:
        return element("p", "No record carried a timestamp.", class_="none")
    totals = report["totals"]
    rejected = rejected_records(totals)
    others = totals["records_judged"] - rejected
    return join(
        legend(
            accepted=f"upwards: % of {words.many(others, 'record')} not rejected",
            ours=f"downwards: % of {words.many(rejected, 'rejected record')}",
        ),
        element(
            "p",
            "Each batch counts with all its records: on the left by the record farthest behind the clock, on "
            "the right by the one farthest ahead; a rejected one only on the side it was rejected for. Each "
            "half has its own scale.",
            class_="soft note",
        ),
        charts.both(report["drift"], marks(report), others, rejected),
    )


def marks(report: Report) -> list[Mark]:
    """Limits in force (at most three on a side, the commonest first) and the places of unit mistakes."""
    now_ms = words.epoch_ms(f"{report['last_day']}T12:00:00.000+00:00")
    after = _commonest(limit["after_max_ms"] for limit in report["limits"])
    before = _commonest(limit["before_max_ms"] for limit in report["limits"])
    return [
        *[Mark(limit, f"after {words.duration(limit)}", "limit") for limit in after],
        *[Mark(-limit, f"before {words.duration(limit)}", "limit") for limit in before],
        Mark(now_ms // 1000 - now_ms, "seconds", "unit"),
        Mark(now_ms * 1000 - now_ms, "microseconds", "unit"),
        Mark(now_ms * 1_000_000 - now_ms, "nanoseconds", "unit"),
    ]


def _commonest(limits: Iterable[int | None], count: int = 3) -> list[int]:
    known = [limit for limit in limits if limit is not None and limit > 0]
    return sorted(set(known), key=lambda limit: (-known.count(limit), limit))[:count]


def hours(report: Report) -> Markup:
    """Records by topic and hour: the number of rejected ones, and whether there was traffic."""
    names = report["hours"]
    shown = report["topic_hours"][: max(1, _CELLS // len(names) - 1)]
    rows = [("all topics", report["all_topics"]), *((row["topic"], row) for row in shown)]
    is_one_day = report["first_day"] == report["last_day"]
    heads = [element("th", name[11:13], scope="col") for name in names] if is_one_day else _days(names)
    return join(
        legend(
            ours="share of the hour's records rejected: the stronger, the more", traffic="nothing rejected"
        ),
        element(
            "div",
            element(
                "table",
                element("thead", element("tr", element("td"), *heads)),
                element("tbody", *[_heat_row(name, row, names) for name, row in rows]),
                class_="heat",
                style=f"--n:{len(names)}",
            ),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Records by topic and hour",
        ),
    )


def _days(hours: Sequence[str]) -> list[Markup]:
    """The heads over hours of several days: one for each day, since the hours' own would not fit."""
    days = [(day, len(list(own))) for day, own in groupby(hours, key=lambda hour: hour[:10])]
    return [
        element(
            "th",
            _day(day),
            scope="colgroup",
            class_="day",
            colspan=str(count),
            style=f"--hours:{count}",
        )
        for day, count in days
    ]


def _day(day: str) -> str:
    """`20 Nov`, which fits above 24 narrow columns."""
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {parsed:%b}"


def _heat_row(name: str, row: TopicHours, names: Sequence[str]) -> Markup:
    cells = []
    for hour, records, rejected in zip(names, row["records"], row["rejected_records"], strict=True):
        if not records and not rejected:
            cells.append(element("td"))
            continue
        part = words.share(rejected, records)
        text = (
            f"{hour[:10]} {hour[11:13]}:00 {words.count(rejected)} of {words.count(records)} rejected, {part}"
        )
        strength = min(1.0, rejected / max(1, records))
        cells.append(
            element(
                "td",
                element("span", part if rejected else "0", class_="unseen"),
                title=text,
                class_="hot" if rejected else "traffic",
                style=f"--s:{max(0.12, strength):.2f}" if rejected else None,
            )
        )
    return element("tr", element("th", words.short(name, 40), scope="row"), *cells)
