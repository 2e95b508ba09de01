"""The report as a screenful of text, coloured on a terminal.

The proxy makes all text of the log printable (`tsproxy.decisions.text`). This module does it again, because
a report.json may come from anywhere.
"""

from textwrap import wrap
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.render import owners, producers
from spark_reports.render.balance import parts_of, sent_again
from spark_reports.report import causes, missing, words
from spark_reports.report.causes import Sender
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Producer, Report, WouldReject
from tsproxy.decisions.text import bounded

_ROWS: Final = 10
_WATCHED: Final = 5
_COUNTED: Final = "only counted"
_OWNER: Final = "owner"
_BAR_CELLS: Final = 24
_LEAST_COLUMNS: Final = 72
_TEXT_CHARS: Final = 2_000
_COLOURS: Final = {
    "accepted": "32",
    "repaired": "34",
    "ours": "31",
    "broker": "35",
    "unconfirmed": "90",
    "partly": "33",
    "bold": "1",
    "soft": "90",
}


class _Paint:
    """Adds colours to a text, or returns it unchanged if there are no colours."""

    def __init__(self, has_colour: bool) -> None:
        self._has_colour = has_colour

    def __call__(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._has_colour else text


def render(report: Report, columns: int = 100, has_colour: bool = False) -> str:
    """Lines of at most `columns` characters; `columns` counts as 72 to 140. Ends in a newline."""
    paint = _Paint(has_colour)
    width = max(_LEAST_COLUMNS, min(columns, 140))
    days = words.days(report)
    unfinished = "" if report["is_over"] else " · not over, numbers so far"
    lines = [
        paint(f"tsproxy daily report · {days} · UTC{unfinished}", "soft"),
        "",
        *(paint(line, "bold") for line in wrap(bounded(report["headline"], _TEXT_CHARS), width)),
        *(line for text in report["details"] for line in wrap(bounded(text, _TEXT_CHARS), width)),
        *_history(report, width),
        *(paint(line, _proof_colour(report)) for line in wrap(_sentence(report), width)),
        *(line for text in _missing(report) for line in wrap(text, width, subsequent_indent="  ")),
        "",
        *_balance(report, paint, width),
        "",
        *_producers(report, paint, width),
        *_owners(report, paint, width),
        *_watched(report, paint, width),
    ]
    return "\n".join(lines) + "\n"


def _history(report: Report, width: int) -> list[str]:
    """The sentence about the week before; nothing without a rollup."""
    found = report.get("history")  # a report of an earlier release has none
    return wrap(bounded(found["sentence"], _TEXT_CHARS), width) if found else []


def _proof_colour(report: Report) -> str:
    return {State.COMPLETE: "accepted", State.COMPLETE_IN_PART: "partly"}.get(
        missing.state(report["log"]), "ours"
    )


def _sentence(report: Report) -> str:
    return bounded(report["log"]["sentence"], _TEXT_CHARS)


def _missing(report: Report) -> list[str]:
    return [bounded(text, _TEXT_CHARS) for text in missing.in_short(report["log"])]


def _balance(report: Report, paint: _Paint, width: int) -> list[str]:
    totals = report["totals"]
    checked = totals["records_judged"]
    digits = len(words.count(checked))
    lines = [f"{words.many(checked, 'record')} checked ="]
    for records, text, kind in parts_of(totals):
        cells = round(_BAR_CELLS * records / checked) if checked else 0
        bar = paint("█" * max(cells, 1 if records else 0), kind)
        part = words.share(records, checked)
        lines.append(f"  {words.count(records):>{digits}}  {text:<23} {part:>7}  {bar}".rstrip())
    rejected, batches = (
        words.count(totals["batches_rejected"]),
        words.many(totals["batches_judged"], "batch", "batches"),
    )
    bad = words.many(totals["bad_records"], "bad record")
    good = words.many(totals["collateral_records"], "good one")
    summary = f"Rejected: {rejected} of {batches}, with {bad} and {good}."
    return [*lines, *wrap(summary, width), *wrap(sent_again(totals), width)]


def _producers(report: Report, paint: _Paint, width: int) -> list[str]:
    """The worst producers by cause: the advice once, then a line for each."""
    shown, found = report["producers"][:_ROWS], causes.of_report(report)
    if not found:
        return ["No producer had a record rejected."]
    name_width = min(width // 4, max([0, *(len(_name(producer)) for producer in shown)]))
    lines = []
    for cause in found:
        advice = bounded(f"{words.sentence(cause.name)}: {cause.fix}", _TEXT_CHARS)
        lines += [paint(line, "bold") for line in wrap(advice, width)]
        numbers = f"{cause.in_words(rejected_records(report['totals']))}."
        lines += [paint(line, "soft") for line in wrap(numbers, width)]
        for row in producers.of_cause(report, cause, _ROWS):
            lines += _sender(report, row.sender, name_width, width)
    more = report["producers_omitted"]["count"] + len(report["producers"]) - len(shown)
    return [*lines, f"and {words.many(more, 'more producer')}"] if more else lines


def _sender(report: Report, sender: Sender, name_width: int, width: int) -> list[str]:
    producer, since = sender.producer, words.since(report, sender.producer)
    name = f"{words.short(_name(producer), name_width):<{name_width}}"
    own = words.share(sender.records, producer["records"])
    indent = name_width + 24
    first, *rest = wrap(f"of what it sent, {sender.drift}, since {since}", width - indent)
    return [
        f"  {name}  {words.count(sender.records):>10}  {own:>7} {first}",
        *(f"{'':<{indent}}{text}" for text in rest),
    ]


def _owners(report: Report, paint: _Paint, width: int) -> list[str]:
    """The teams with producers that were rejected; nothing without `--owners`."""
    teams = owners.rejected_teams(report)
    if not teams:
        return []
    shown = teams[:_ROWS]
    name_width = min(width // 4, max(len(_OWNER), *(len(words.team(team["team"])) for team in shown)))
    lines = ["", paint(f"{_OWNER:<{name_width}}  {'rejected':>12}  {'producers':>10}  channel", "soft")]
    for team in shown:
        name = f"{words.short(words.team(team['team']), name_width):<{name_width}}"
        counts = f"{words.count(team['rejected_records']):>12}  {words.count(team['producers']):>10}"
        channel = words.short(team["channel"] or "–", max(24, width - name_width - 28))
        lines.append(f"{paint(name, 'bold')}  {counts}  {channel}")
    more = len(teams) - len(shown)
    lines += [f"and {words.count(more)} more in report.json"] if more else []
    return [*lines, *wrap(owners.left_out_of(report), width)]


def _watched(report: Report, paint: _Paint, width: int) -> list[str]:
    """Batches that rules in audit, waivers and the candidate limits only counted, if there are any."""
    found = report["would_reject"]
    if not found:
        return []
    names = [bounded(words.client(row["client_id"])) for row in found[:_WATCHED]]
    name_width = max(len(_COUNTED), min(width // 4, max(map(len, names))))
    indent = name_width + 14
    lines = ["", paint(f"{_COUNTED:<{name_width}}  {'bad':>10}  by which rule, and why", "soft")]
    for name, row in zip(names, found, strict=False):
        first, *rest = wrap(_by_which_rule(row), max(24, width - indent)) or [""]
        shown = paint(f"{words.short(name, name_width):<{name_width}}", "bold")
        lines.append(f"{shown}  {words.count(row['bad_records']):>10}  {first}")
        lines += [f"{'':<{indent}}{line}" for line in rest]
    more = len(found) - len(names)
    return [*lines, f"and {words.count(more)} more like this in report.json"] if more else lines


def _by_which_rule(row: WouldReject) -> str:
    by = "far behind, rejected by nothing" if words.is_far_behind(row) else words.rule(row["rule"])
    by += words.waiver(row, ", waiver ", 40)
    return bounded(f"{by}: {words.short(row['topic'], 60)}, {row['cause']}", _TEXT_CHARS)


def _name(producer: Producer) -> str:
    return bounded(words.client(producer["client_id"]))
