"""The producer table, the main part of the page: the client, the cause, the fix, numbers and times."""

from collections.abc import Sequence
from typing import Final

from spark_reports.render.charts import sparkline
from spark_reports.render.tables import bullets, heads, table, tag
from spark_reports.report import words
from spark_reports.report.notices import has_owner, notice
from spark_reports.report.shape import ClientReason, Example, Producer, Report
from tsproxy.model.markup import Markup, element, join

REASONS_SHOWN: Final = 4
EXAMPLES_SHOWN: Final = 3
_INDEXES_SHOWN: Final = 8

_HEADS: Final = heads(
    "Producer", "Why, and what to do", "#Rejected records", "Drift", "Topics", "Hours (UTC)"
)


def producers(report: Report, rows: int) -> Markup:
    """The section of the first `rows` producers."""
    shown = report["producers"][:rows]
    if not shown:
        return element("p", "No producer had a record rejected.", class_="none")
    cells = [_row(report, producer) for producer in shown]
    return join(table(_HEADS, cells, "producers"), _omitted(report, len(shown)))


def _omitted(report: Report, shown: int) -> Markup | None:
    rest = report["producers"][shown:]
    more = report["producers_omitted"]["count"] + len(rest)
    if not more:
        return None
    rejected = report["producers_omitted"]["rejected_records"] + sum(p["rejected_records"] for p in rest)
    text = f"And {words.many(more, 'more producer')} with {words.many(rejected, 'rejected record')}."
    return element("p", text, class_="more")


def _row(report: Report, producer: Producer) -> tuple[Markup, ...]:
    return (
        _who(producer),
        join(_why(producer), _for_owner(report, producer)),
        _how_much(producer),
        _drifts(producer),
        _topics(producer),
        _when(producer, report["hours"]),
    )


def _who(producer: Producer) -> Markup:
    principal = producer["principal"]
    return join(
        element("strong", words.short(words.client(producer["client_id"])), class_="client"),
        element("div", words.short(principal), class_="soft") if principal else None,
        *[element("div", words.short(name), class_="soft") for name in producer["client_software"][:2]],
    )


def _why(producer: Producer) -> Markup:
    reasons = producer["reasons"]
    more = len(reasons) - REASONS_SHOWN
    return join(
        *[_reason(reason, len(reasons) > 1) for reason in reasons[:REASONS_SHOWN]],
        element("div", f"and {words.many(more, 'more reason')}", class_="soft") if more > 0 else None,
        _evidence(producer),
    )


def _reason(reason: ClientReason, has_others: bool) -> Markup:
    return element(
        "div",
        tag(reason["verdict"], reason["reason"], reason["error_code"]),
        " ",
        element("b", f"{reason['cause'][:1].upper()}{reason['cause'][1:]}:"),
        " ",
        reason["fix"] + ".",
        element("span", f" {words.many(reason['records'], 'record')}.", class_="soft")
        if has_others
        else None,
        class_="reason",
    )


def _evidence(producer: Producer) -> Markup | None:
    examples = producer["examples"][:EXAMPLES_SHOWN]
    addresses = [words.short(address, 60) for address in producer["addresses"]]
    if not examples and not addresses:
        return None
    seen = f"{_clock(producer['first_ts'])} to {_clock(producer['last_ts'])} UTC"
    return element(
        "details",
        element("summary", "Evidence"),
        element("p", f"Rejected from {seen}, from {', '.join(addresses) or 'an unknown address'}."),
        bullets([_example(example) for example in examples]),
    )


def _for_owner(report: Report, producer: Producer) -> Markup | None:
    """A text for the owner of the producer, to copy."""
    if not has_owner(producer):
        return None
    text = notice(report, producer)
    return element("details", element("summary", "Text for its owner"), element("pre", text))


def _example(example: Example) -> Markup:
    indexes = ", ".join(map(str, example["bad_index"][:_INDEXES_SHOWN]))
    more = ", …" if example["bad_records"] > min(len(example["bad_index"]), _INDEXES_SHOWN) else ""
    time = example["bad_ts"][0] if example["bad_ts"] else None
    read_as = (
        f", which reads as {words.instant_words(example['read_as_ts'])}" if example["read_as_ts"] else ""
    )
    where = f"{words.short(example['topic'], 80)}-{example['partition']}"
    message = example["error_message"]
    part = f"{example['bad_records']} of {words.many(example['records'], 'record')}"
    return join(
        f"{_clock(example['ts'], True)} {where}: {part}",
        f" (index {indexes}{more})" if indexes else None,
        join("; first timestamp ", element("code", str(time)), read_as) if time is not None else None,
        ". ",
        element("span", words.short(message), class_="soft") if message else None,
    )


def _how_much(producer: Producer) -> Markup:
    own = words.share(producer["rejected_records"], producer["records"])
    percent = 100 * producer["rejected_records"] / max(1, producer["records"])
    collateral = producer["collateral_records"]
    return join(
        element("strong", words.count(producer["rejected_records"]), class_="big"),
        element("div", element("span", style=f"width:{percent:.1f}%"), class_="meter", role="presentation"),
        element("div", f"{own} of its own", class_="soft"),
        element("div", f"{words.count(collateral)} collateral", class_="soft") if collateral else None,
    )


def _drifts(producer: Producer) -> Markup:
    now_ms = words.epoch_ms(producer["last_ts"])
    texts = dict.fromkeys(
        words.drift_range(r["drift_min_ms"], r["drift_max_ms"], now_ms)
        for r in producer["reasons"][:REASONS_SHOWN]
    )
    return join(*[element("div", text) for text in texts])


def _topics(producer: Producer) -> Markup:
    shown = producer["topics"][:3]
    more = producer["topics_count"] - len(shown)
    return join(
        *[element("div", words.short(topic["topic"], 60), class_="name") for topic in shown],
        element("div", f"and {words.count(more)} more", class_="soft") if more > 0 else None,
    )


def _when(producer: Producer, hours: Sequence[str]) -> Markup:
    values = producer["hours"]
    busiest = hours[values.index(max(values))] if values else ""
    active = sum(1 for value in values if value)
    label = f"Rejected records by hour: {active} of {len(values)} hours, most at {busiest[11:13]}:00"
    return join(
        sparkline(values, label),
        element("div", f"last {_clock(producer['last_ts'])}", class_="soft"),
    )


def _clock(instant: str, has_seconds: bool = False) -> str:
    return instant[11:19] if has_seconds else instant[11:16]
