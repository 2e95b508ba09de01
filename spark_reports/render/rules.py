"""Rules in force and waivers: the records that they rejected or would reject, and starts and reloads."""

from typing import Final

from spark_reports.render.tables import bullets, heads, table
from spark_reports.report import words
from spark_reports.report.shape import InForce, Report, RuleAtWork
from tsproxy.model.markup import Content, Markup, element, join

_HEADS: Final = heads("Rule", "Mode", "Waiver", "#Batches", "#Records", "#Bad", "#Rejected")
_STARTS: Final = 10
_NAMES: Final = 12


def rules(report: Report, rows: int) -> Markup:
    """The rules with violations, then starts and reloads."""
    shown, starts = report["rules"][:rows], report["in_force"][: min(rows, _STARTS)]
    more = len(report["rules"]) - len(shown)
    return join(
        table(_HEADS, [_cells(row) for row in shown], "rules")
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


def _cells(row: RuleAtWork) -> tuple[Content, ...]:
    return (
        element("span", words.rule(row["rule"]), class_="name"),
        words.short(row["mode"] or "–", 20),
        element("span", words.short(row["waiver"] or "–", 60), class_="name"),
        words.count(row["batches"]),
        words.count(row["records"]),
        words.count(row["bad_records"]),
        words.count(row["rejected_records"]),
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
