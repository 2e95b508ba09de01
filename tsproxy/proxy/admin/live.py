"""The page for people: one HTML document without external parts, made anew for each request.

It is complete without its script. The script only fetches the page again and shows how fast counts rise. All
texts that a client or a broker chose are escaped, and only the page's own style and script run (`POLICY`).
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from math import isinf
from typing import Final

from tsproxy import __version__
from tsproxy.config.settings import Config
from tsproxy.decisions.ledger import Key
from tsproxy.model.markup import Content, Markup, element, join, raw
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import CANDIDATE
from tsproxy.model.verdict import Reason
from tsproxy.proxy.admin.numbers import Numbers
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.metrics.drift import NAME as DRIFT
from tsproxy.proxy.metrics.latency.timings import INSIDE, UPSTREAM
from tsproxy.proxy.metrics.offenders import REST, Offender

_STYLE: Final = files(__package__).joinpath("live.css").read_text(encoding="utf-8")
_SCRIPT: Final = files(__package__).joinpath("live.js").read_text(encoding="utf-8")


def _source(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


POLICY: Final = (
    f"default-src 'none'; style-src {_source(_STYLE)}; script-src {_source(_SCRIPT)}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the page."""


def page(config: Config, report: Report) -> str:
    """The whole document."""
    numbers = Numbers(report.families)
    sections = (
        _cards(numbers),
        _offenders(report),
        _two(_drift(numbers), _outcomes(numbers)),
        _two(_latency(numbers), _brokers(report)),
        _two(_connections(report, numbers), _endings(numbers)),
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("title", "tsproxy"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("style", raw(_STYLE)),
    )
    body = element(
        "body",
        element("main", _head(config, report, numbers), *sections, data_now_ms=report.now_ms),
        element("p", "The proxy does not answer; what is shown is old.", id="lost"),
        element("script", raw(_SCRIPT)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _head(config: Config, report: Report, numbers: Numbers) -> Markup:
    state = (
        element("span", "not ready", class_="state trouble")
        if report.not_ready
        else element("span", "ready", class_="state")
    )
    troubles = [*report.not_ready, *report.warnings]
    if numbers.sum("tsproxy_enforcement_suspended"):
        troubles.append(
            "nothing is enforced: this proxy's clock is too far from the brokers' (clock.max_offset)"
        )
    facts = [
        f"tsproxy {__version__}",
        f"mode {config.policy.mode.value}",
        f"cluster {report.cluster_id or 'not known yet'}",
        f"{config.workers} workers" if config.workers > 1 else "",
        _clock(numbers),
    ]
    upstream = ", ".join(str(each) for each in config.upstream.bootstrap_servers)
    return join(
        element("h1", upstream, " ", state),
        element("p", " · ".join(each for each in facts if each), class_="soft"),
        element("ul", *(element("li", each) for each in troubles), class_="trouble") if troubles else None,
    )


def _clock(numbers: Numbers) -> str:
    """The distance to the broker clock that is furthest away; empty if that is not measured."""
    offsets = [seconds for _, seconds in numbers.rows("tsproxy_clock_offset_seconds")]
    return f"clock {max(offsets, key=abs) * 1000:+,.0f} ms from brokers'" if offsets else ""


def _cards(numbers: Numbers) -> Markup:
    records = "tsproxy_records_total"
    rejected = numbers.sum(records, verdict="rejected") + numbers.sum(records, verdict="broker_rejected")
    dropped = numbers.sum("tsproxy_decisions_dropped_total")
    held = numbers.sum("tsproxy_buffered_bytes")
    cards = (
        _card("accepted", "records accepted", numbers.sum(records, verdict="accepted")),
        _card("rejected", "records rejected", rejected),
        _card("from_client", "bytes from clients", numbers.sum(_BYTES, direction="from_client"), "B"),
        _card("from_broker", "bytes from brokers", numbers.sum(_BYTES, direction="from_broker"), "B"),
        _plain_card("connections", numbers.sum("tsproxy_connections"), f"{_size(held)} held for them"),
        _plain_card(
            "lines in the decision log",
            numbers.sum("tsproxy_decisions_total"),
            f"{dropped:,.0f} dropped" if dropped else "none dropped",
        ),
    )
    return element("dl", *cards, class_="cards")


_BYTES: Final = "tsproxy_bytes_total"


def _card(name: str, text: str, count: float, unit: str = "") -> Markup:
    """A count, and below it how fast it rises."""
    shown = _size(count) if unit == "B" else f"{count:,.0f}"
    return element(
        "div",
        element("dt", text),
        element("dd", shown, id=name, data_count=f"{count:.0f}"),
        element("dd", data_rate_of=name, data_unit=unit),
    )


def _plain_card(text: str, count: float, below: str) -> Markup:
    return element("div", element("dt", text), element("dd", f"{count:,.0f}"), element("dd", below))


def _offenders(report: Report) -> Markup:
    rows = [_offender(each, report.now_ms) for each in report.offenders]
    head = ("client", "topic", "what is wrong", "#bad records", "#records rejected", "#last", "seen")
    body = _table(head, rows) if rows else element("p", "Nobody, since this proxy began.", class_="soft")
    return element("section", element("h2", "Who sends bad times"), body, id="offenders")


_HOW: Final = {VerdictName.BROKER_REJECTED: "found by the broker", VerdictName.REPAIRED: "repaired"}


def _offender(row: Offender, now_ms: int) -> Sequence[Content]:
    key = row.key
    counts = (f"{row.bad_records:,}", f"{row.records:,}")
    if key == REST:
        return ("all others", "", "", *counts, _ago(now_ms - row.last_ms), "")
    client = key.client_id if key.client_id else "(no client id)"
    wrong = [
        (key.reason or "").replace("_", " "),
        f"in {key.unit_guess}" if key.unit_guess else "",
        _HOW.get(key.verdict, ""),
        _let_pass(key) if key.would_reject else "",
    ]
    seen = (
        f"at {row.client_address}" if row.client_address else "",
        f"sent {row.timestamp_ms}" if row.timestamp_ms is not None else "",
    )
    return (
        client + (f" as {key.principal}" if key.principal else ""),
        key.topic,
        ", ".join(each for each in wrong if each),
        *counts,
        _ago(now_ms - row.last_ms),
        ", ".join(each for each in seen if each),
    )


def _let_pass(key: Key) -> str:
    """The text for a batch that would be rejected. No broker limit rejects old records, so for those the
    candidate limit only counts."""
    is_far_behind = key.rule == CANDIDATE and key.reason == Reason.TOO_OLD
    return "far behind, only counted" if is_far_behind else "would be rejected"


def _drift(numbers: Numbers) -> Markup:
    """Bars of the newest and the oldest times side by side."""
    charts = (
        join(
            element("p", element("small", f"the {of} record of a batch")),
            _bars(numbers.buckets(DRIFT, of=of)),
        )
        for of in ("newest", "oldest")
    )
    return element("section", element("h2", "Drift: timestamp minus clock"), *charts, id="drift")


_BAR: Final = 24
_HEIGHT: Final = 70


def _bars(buckets: Sequence[tuple[float, float]]) -> Markup:
    """Counts by upper bound; heights are in proportion to the square root, so that few show beside many."""
    most = max((count for _, count in buckets), default=0) or 1
    bars = []
    for index, (upper, count) in enumerate(buckets):
        height = round(_HEIGHT * (count / most) ** 0.5, 1)
        title = element("title", f"{count:,.0f} batches up to {_span(upper)}")
        bars.append(
            element("rect", title, x=index * _BAR + 2, y=_HEIGHT - height, width=_BAR - 4, height=height)
        )
        if index + 1 < len(buckets):
            bars.append(element("text", _span(upper), x=(index + 1) * _BAR, y=_HEIGHT + 14))
    width = _BAR * max(1, len(buckets))
    line = element("line", x1=0, y1=_HEIGHT, x2=width, y2=_HEIGHT)
    return element("svg", line, *bars, viewBox=f"0 0 {width} {_HEIGHT + 20}", role="img")


def _outcomes(numbers: Numbers) -> Markup:
    batches, records = "tsproxy_batches_total", "tsproxy_records_total"
    rows = [
        (listener, verdict, reason, f"{count:,.0f}", f"{numbers.sum(records, **labels):,.0f}")
        for labels, count in numbers.rows(batches)
        for listener, verdict, reason in [(labels["listener"], labels["verdict"], labels["reason"])]
    ]
    return _section("What became of batches", ("listener", "", "", "#batches", "#records"), rows)


def _latency(numbers: Numbers) -> Markup | None:
    apis = sorted({labels["api"] for labels, _ in numbers.rows(f"{INSIDE}_count")})
    rows = [
        (
            api,
            f"{numbers.sum(f'{INSIDE}_count', api=api):,.0f}",
            *(_seconds(numbers.quantile(UPSTREAM, q, api=api)) for q in (0.5, 0.99)),
            *(_seconds(numbers.quantile(INSIDE, q, api=api)) for q in (0.5, 0.99)),
        )
        for api in apis
    ]
    head = ("request", "#timed", "#broker: half", "#99 %", "#here: half", "#99 %")
    return _section("Latency", head, rows) if rows else None


def _brokers(report: Report) -> Markup:
    rows = [
        (each.listener, each.node_id, each.upstream, each.served_at or "not served")
        for each in report.brokers
    ]
    return _section("Brokers", ("listener", "#node", "the broker", "as clients know it"), rows)


def _connections(report: Report, numbers: Numbers) -> Markup:
    states = [
        (f"{labels['listener']}: {labels['state']}", count)
        for labels, count in numbers.rows("tsproxy_connections")
        if count
    ]
    rows = [*states, *report.addresses.items()]
    return _section("Connections", ("", "#"), [(text, f"{count:,.0f}") for text, count in rows])


def _endings(numbers: Numbers) -> Markup:
    closed = [
        (f"{labels['listener']}: {labels['reason']}", count)
        for labels, count in numbers.rows("tsproxy_sessions_closed_total")
    ]
    limits = [
        (f"limits.{labels['limit']}", count)
        for labels, count in numbers.rows("tsproxy_limits_total")
        if count
    ]
    rows = [(text, f"{count:,.0f}") for text, count in (*closed, *limits)]
    return _section("How connections ended", ("", "#"), rows)


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[Content]]) -> Markup:
    body = _table(head, rows) if rows else element("p", "None yet.", class_="soft")
    return element("section", element("h2", title), body)


def _two(*sections: Markup | None) -> Markup:
    return element("div", *sections, class_="two")


def _table(head: Sequence[str], rows: Iterable[Sequence[Content]]) -> Markup:
    """A column whose head begins with # holds numbers."""
    kinds = ["number" if name.startswith("#") else None for name in head]

    def line(tag: str, cells: Sequence[Content]) -> Markup:
        return element(
            "tr", *(element(tag, cell, class_=kind) for kind, cell in zip(kinds, cells, strict=True))
        )

    names = line("th", [name.removeprefix("#") for name in head])
    return element("div", element("table", names, *(line("td", row) for row in rows)), class_="scroll")


_SPANS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def _span(seconds: float) -> str:
    """`-7d`, `+5m`, `0`, `+∞`."""
    if isinf(seconds):
        return "+∞"
    size, unit = next(((size, unit) for size, unit in _SPANS if abs(seconds) >= size), (1, ""))
    return f"{seconds / size:+.0f}{unit}" if seconds else "0"


def _ago(ms: int) -> str:
    return f"{_span(max(0, ms) / 1000).removeprefix('+')} ago" if ms >= 1000 else "now"


def _seconds(value: float | None) -> str:
    """The upper bound of a latency as text; empty for None."""
    if value is None or isinf(value):
        return "" if value is None else "more"
    return f"≤ {value * 1000:g} ms" if value < 1 else f"≤ {value:g} s"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"
