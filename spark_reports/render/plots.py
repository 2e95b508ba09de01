"""The picture of drifts: a butterfly."""

from collections.abc import Iterable

from spark_reports.render import charts
from spark_reports.render.charts import Mark
from spark_reports.render.tables import legend
from spark_reports.report import words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup, element, join


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
