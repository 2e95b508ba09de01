"""The page for people: one HTML document without external parts, made anew for each request.

It is complete without its script. The script only fetches the page again and shows how fast counts rise. All
texts that a client or a broker chose are escaped, and only the page's own style and script run (`POLICY`).
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from enum import Enum
from importlib.resources import files
from math import inf, isinf
from typing import Final

from tsproxy import __version__
from tsproxy.config.settings import Config
from tsproxy.decisions.text import instant
from tsproxy.model.markup import Content, Markup, element, join, raw
from tsproxy.model.verdict import Reason
from tsproxy.model.words import many
from tsproxy.proxy.admin.numbers import Numbers
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.admin.senders import Sender, senders
from tsproxy.proxy.admin.troubles import troubles
from tsproxy.proxy.clock_check.offsets import offset_text
from tsproxy.proxy.metrics.catalogue import BROKER_CONNECTIONS
from tsproxy.proxy.metrics.drift import NAME as DRIFT
from tsproxy.proxy.metrics.registry import SENT_AGAIN
from tsproxy.proxy.metrics.timings import CONNECT, INSIDE, PRODUCE, UPSTREAM

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
    numbers = Numbers(report.families)
    bad = senders(report.offenders, report.now_ms)
    sections = (
        _senders(bad, report.now_ms),
        _cards(numbers),
        _two(_drift(numbers), _outcomes(numbers)),
        _two(_latency(numbers), _brokers(report, numbers)),
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
        element("main", _head(config, report, numbers, bad), *sections, data_now_ms=report.now_ms),
        element(
            "aside", element("p", "The proxy does not answer. The page shows its last answer."), id="lost"
        ),
        element("script", raw(_SCRIPT)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _head(config: Config, report: Report, numbers: Numbers, bad: Sequence[Sender]) -> Markup:
    """The head of the page: the proxy's state in one sentence, some facts, and the problems if there are
    any."""
    warnings = troubles(report)
    kind, sentence = _state(report, warnings, bad)
    facts = [
        f"tsproxy {__version__}",
        f"mode {config.policy.mode.value}",
        f"upstream {', '.join(str(each) for each in config.upstream.bootstrap_servers)}",
        f"cluster {report.cluster_id or 'not known yet'}",
        f"{config.workers} workers" if config.workers > 1 else "",
        _clock(numbers),
    ]
    shown = [*report.not_ready, *warnings]
    return join(
        element("h1", element("span", kind.word, class_=f"state {kind.name}"), " ", sentence),
        element("p", " · ".join(each for each in facts if each), class_="soft"),
        _troubles(kind, shown) if shown else None,
    )


class _Kind(Enum):
    """The state of the proxy. The value is the word with which the page begins."""

    good = "ready"
    warned = "attention"
    trouble = "not ready"

    @property
    def word(self) -> str:
        return str(self.value)


def _state(report: Report, warnings: Sequence[str], bad: Sequence[Sender]) -> tuple[_Kind, str]:
    if report.not_ready:
        return _Kind.trouble, f"Clients cannot be served: {_first(report.not_ready)}"
    lately = [each for each in bad if each.sends_now(report.now_ms)]
    now = [each for each in lately if not each.is_only_counted]
    parts = []
    if now:
        parts.append(f"{_producers(now)} sent bad times in the last 5 minutes")
    elif lately:
        parts += ["nothing rejected in the last 5 minutes", f"{_producers(lately)} only counted"]
    else:
        parts.append("no bad times in the last 5 minutes")
    about_times = ", ".join(parts)
    if warnings:
        return _Kind.warned, f"{_capital(_first(warnings).removesuffix('.'))}. {_capital(about_times)}"
    return (_Kind.warned if now else _Kind.good), f"Clients are served, {about_times}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _first(problems: Sequence[str]) -> str:
    others = len(problems) - 1
    return f"{problems[0].removesuffix('.')} (and {others} more)" if others else problems[0]


def _producers(several: Sequence[Sender]) -> str:
    """The number of producers, such as `2 producers`. The row for all others stands for at least one more."""
    more = "more than " if any(each.is_rest for each in several) else ""
    return f"{more}{many(len({each.who for each in several if not each.is_rest}), 'producer')}"


def _troubles(kind: _Kind, troubles: Sequence[str]) -> Markup:
    return element(
        "div",
        element("ul", *(element("li", each) for each in troubles)),
        element(
            "p",
            "The proxy's log has a line for each. docs/guide/troubleshooting.md says what to do.",
            class_="soft",
        ),
        class_=f"troubles {kind.name}",
    )


def _clock(numbers: Numbers) -> str:
    """The distance to the broker clock that is surely furthest away, with its margin; empty if that is not
    measured."""
    rows = [
        (1000 * seconds, 1000 * numbers.sum("tsproxy_clock_offset_margin_seconds", broker=has["broker"]))
        for has, seconds in numbers.rows("tsproxy_clock_offset_seconds")
    ]
    if not rows:
        return ""
    return f"clock {offset_text(*max(rows, key=lambda row: abs(row[0]) - row[1]))} from brokers'"


def _cards(numbers: Numbers) -> Markup:
    records = "tsproxy_records_total"
    rejected = numbers.sum(records, verdict="rejected") + numbers.sum(records, verdict="broker_rejected")
    settled = numbers.sum(records) - numbers.sum(records, verdict=SENT_AGAIN)
    dropped = numbers.sum("tsproxy_decisions_dropped_total")
    held = numbers.sum("tsproxy_buffered_bytes")
    cards = (
        _card("accepted", "records accepted", numbers.sum(records, verdict="accepted")),
        _card("rejected", f"records rejected{_share(rejected, settled)}", rejected),
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


def _share(part: float, whole: float) -> str:
    return f", {100 * part / whole:.2g} %" if part and whole else ""


_BYTES: Final = "tsproxy_bytes_total"


def _card(name: str, text: str, count: float, unit: str = "") -> Markup:
    shown = _size(count) if unit == "B" else f"{count:,.0f}"
    return element(
        "div",
        element("dt", text),
        element("dd", shown, id=name, data_count=f"{count:.0f}"),
        element("dd", data_rate_of=name, data_unit=unit),
    )


def _plain_card(text: str, count: float, below: str) -> Markup:
    return element("div", element("dt", text), element("dd", f"{count:,.0f}"), element("dd", below))


def _senders(bad: Sequence[Sender], now_ms: int) -> Markup:
    entries = [_sender(each, now_ms) for each in bad]
    body = (
        element("ol", *entries, class_="senders")
        if entries
        else element("p", "Nobody, since this proxy began.", class_="soft")
    )
    return element("section", element("h2", "Who sends bad times"), body, id="offenders")


def _sender(sender: Sender, now_ms: int) -> Markup:
    row, sends_now = sender.row, sender.sends_now(now_ms)
    key, sent = row.key, sender.sent(now_ms)
    principal = f"as {key.principal}" if key.principal else ""
    addressed = f"from {row.client_address}" if row.client_address else ""
    first = f"{instant(row.first_ms)[:16].replace('T', ' ')} UTC"
    last = f"last {_ago(now_ms - row.last_ms)}"
    who = element(
        "div",
        element("strong", sender.name),
        element("span", f" to {key.topic}" if not sender.is_rest else ""),
        element("small", ", ".join(each for each in (principal, addressed) if each)),
    )
    what = element(
        "div",
        element("strong", sender.what),
        element("span", f"To do: {sender.to_do}") if sender.to_do else None,
        element("small", sent) if sent else None,
    )
    counted = element(
        "div",
        element("strong", many(row.bad_records, "bad record")),
        element("span", f"{many(row.records, 'record')} {sender.outcome}"),
        element("small", f"since {first} ({_ago(now_ms - row.first_ms)}), {last}"),
    )
    return element(
        "li", who, what, counted, class_="now" if sends_now and not sender.is_only_counted else None
    )


def _drift(numbers: Numbers) -> Markup:
    newest, oldest = (dict(numbers.buckets(DRIFT, of=of)) for of in ("newest", "oldest"))
    bounds = sorted({*newest, *oldest})
    most = max([*newest.values(), *oldest.values()], default=0)
    rows = [
        (_between(low, high), _bar(newest.get(high, 0), most), _bar(oldest.get(high, 0), most))
        for low, high in zip([-inf, *bounds], bounds, strict=False)
        if newest.get(high) or oldest.get(high)
    ]
    return _section(
        "Drift: timestamp minus clock", ("batches by drift", "newest record", "oldest record"), rows
    )


def _between(low: float, high: float) -> str:
    """A range of drift as text, such as `5m to 1h behind`. The clock is the bound between behind and
    ahead."""
    side, near, far = ("behind", -high, -low) if high <= 0 else ("ahead", low, high)
    if isinf(far):
        return f"over {_length(near)} {side}"
    return f"{_length(near)} to {_length(far)} {side}" if near else f"up to {_length(far)} {side}"


def _length(seconds: float) -> str:
    return _span(seconds).removeprefix("+")


_BAR: Final = 100
"""The width of the longest bar, in the unit of the drawing."""
_LINE: Final = 1
"""The width of the shortest bar."""


def _bar(count: float, most: float) -> Markup:
    """A count and its bar. The width of the bar is in proportion to the count, but at least `_LINE`."""
    width = round(max(_BAR * count / most, _LINE), 1) if count else 0
    drawn = element("rect", width=width, height=8)
    bar = element("svg", drawn, viewBox=f"0 0 {_BAR} 8", preserveAspectRatio="none", aria_hidden="true")
    return join(f"{count:,.0f}", bar)


def _outcomes(numbers: Numbers) -> Markup:
    batches, records = "tsproxy_batches_total", "tsproxy_records_total"
    found = numbers.rows(batches)
    is_one = len({labels["listener"] for labels, _ in found}) == 1
    rows = [
        (
            "" if is_one else labels["listener"],
            _outcome(labels["verdict"], labels["reason"]),
            f"{count:,.0f}",
            f"{numbers.sum(records, **labels):,.0f}",
        )
        for labels, count in sorted(found, key=lambda one: -one[1])
    ]
    head = ("listener", "outcome", "#batches", "#records")
    skipped = 1 if is_one else 0
    return _section("What became of batches", head[skipped:], [row[skipped:] for row in rows])


_VERDICTS: Final = {
    "broker_rejected": "rejected by the broker",
    "rejected": "rejected here",
    SENT_AGAIN: "sent again by clients",
}


def _outcome(verdict: str, reason: str) -> str:
    """An outcome as text, such as `rejected by the broker: too old`."""
    words = _VERDICTS.get(verdict, verdict)
    word = Reason(reason).word if reason in Reason.__members__.values() else reason.replace("_", " ")
    return f"{words}: {word}" if word else words


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
    head = ("request", "#timed", "#broker, half", "#broker, 99 %", "#here, half", "#here, 99 %")
    return _section("Latency", head, rows) if rows else None


def _brokers(report: Report, numbers: Numbers) -> Markup:
    failed = {(each.listener, each.broker): each.text for each in report.lately if each.text}
    open_now = BROKER_CONNECTIONS.name
    by_broker = numbers.by("broker", open_now, f"{CONNECT}_bucket", f"{PRODUCE}_bucket")
    rows: list[tuple[str | int, ...]] = []
    for each in report.brokers:
        broker = str(each.node_id)
        its = by_broker.get(broker, Numbers({}))
        clients = its.sum(open_now, listener=each.listener)
        times = (_seconds(its.quantile(name, 0.99)) for name in (CONNECT, PRODUCE))
        facts = (each.listener, each.node_id, each.upstream, each.served_at or "not served")
        rows.append((*facts, f"{clients:,.0f}", *times, failed.get((each.listener, broker), "")))
    more = ("#clients", "#to connect, 99 %", "#Produce, 99 %", "failed in the last minutes")
    return _section("Brokers", ("listener", "#node", "the broker", "as clients know it", *more), rows)


def _connections(report: Report, numbers: Numbers) -> Markup:
    states = [
        (f"{labels['listener']}: {labels['state']}", count)
        for labels, count in numbers.rows("tsproxy_connections")
        if count
    ]
    rows = [*states, *report.addresses.items()]
    return _section(
        "Connections",
        ("state, or client address", "#open"),
        [(text, f"{count:,.0f}") for text, count in rows],
    )


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
    return _section("How connections ended", ("reason", "#connections"), rows)


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[Content]]) -> Markup:
    body = _table(title, head, rows) if rows else element("p", "None yet.", class_="soft")
    return element("section", element("h2", title), body)


def _two(*sections: Markup | None) -> Markup:
    return element("div", *sections, class_="two")


def _table(label: str, head: Sequence[str], rows: Iterable[Sequence[Content]]) -> Markup:
    """A table. A column whose head begins with # contains numbers."""
    kinds = ["number" if name.startswith("#") else None for name in head]

    def line(tag: str, cells: Sequence[Content]) -> Markup:
        return element(
            "tr", *(element(tag, cell, class_=kind) for kind, cell in zip(kinds, cells, strict=True))
        )

    names = line("th", [name.removeprefix("#") for name in head])
    table = element("table", element("thead", names), element("tbody", *(line("td", row) for row in rows)))
    # The focus lets a keyboard scroll a table that is wider than the window.
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=label)


_SPANS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def _span(seconds: float) -> str:
    """Seconds as text, such as `-7d`, `+5m`, `0` or `+∞`."""
    if isinf(seconds):
        return "+∞"
    size, unit = next(((size, unit) for size, unit in _SPANS if abs(seconds) >= size), (1, ""))
    return f"{seconds / size:+.0f}{unit}" if seconds else "0"


def _ago(ms: int) -> str:
    return f"{_span(max(0, ms) / 1000).removeprefix('+')} ago" if ms >= 1000 else "now"


def _seconds(value: float | None) -> str:
    if value is None or isinf(value):
        return "" if value is None else "more"
    return f"≤ {value * 1000:g} ms" if value < 1 else f"≤ {value:g} s"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"
