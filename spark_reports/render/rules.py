"""Rules in force and waivers: the records that they rejected or would reject, and starts and reloads."""

from typing import Final

from spark_reports.render.tables import Column, Columns, bullets, count, name, table
from spark_reports.report import words
from spark_reports.report.shape import InForce, Report, RuleAtWork
from tsproxy.model.markup import Markup, element, join

COLUMNS: Final[Columns[RuleAtWork]] = (
    name("Rule", lambda row: words.rule(row["rule"])),
    Column("Mode", lambda row: words.short(row["mode"] or "–", 20)),
    name("Waiver", lambda row: words.short(row["waiver"] or "–", 60)),
    count("Batches", "batches"),
    count("Records", "records"),
    count("Bad", "bad_records"),
    count("Rejected", "rejected_records"),
)
STARTS_SHOWN: Final = 10
_NAMES: Final = 12


def rules(report: Report, rows: int) -> Markup:
    """The rules with violations, then starts and reloads."""
    shown, starts = report["rules"][:rows], report["in_force"][: min(rows, STARTS_SHOWN)]
    more = len(report["rules"]) - len(shown)
    return join(
        table(COLUMNS, shown, "rules")
        if shown
        else element("p", "No batch violated a rule of tsproxy's own; no waiver was used.", class_="none"),
        element("p", f"And {words.many(more, 'more rule')} in report.json.", class_="more") if more else None,
        bullets([started(each) for each in starts], "starts"),
        element(
            "p", "No process started or reloaded: the configuration is that of the day before.", class_="more"
        )
        if not report["in_force"]
        else None,
    )


def started(each: InForce) -> str:
    """A sentence about the configuration of a process."""
    event = "started" if each["kind"] == "start" else "reloaded its configuration"
    facts = [
        f"mode {words.short(each['mode'] or 'unknown', 20)}",
        f"limits from {words.short(each['limits_from'] or 'unknown', 60)}",
        f"rules: {_named(each['rules'])}",
        f"waivers: {_named(each['waivers'])}",
    ]
    time = words.instant_words(each["ts"])
    return f"{words.short(each['proxy'], 60)} {event}, {time}: {'; '.join(facts)}."


def _named(names: list[str]) -> str:
    shown = ", ".join(words.short(name, 60) for name in names[:_NAMES]) or "none"
    return shown + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
