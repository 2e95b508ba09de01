"""The page for people: one HTML document without external parts, made anew for each request.

It is complete without its script. The script only fetches the page again. All texts that a client or a
broker chose are escaped, and only the page's own style and script run (`POLICY`).
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from typing import Any, Final

from tsproxy import __version__
from tsproxy.config.enforced import mode_text
from tsproxy.config.settings import Config
from tsproxy.decisions.old_requests import use_text
from tsproxy.decisions.text import instant
from tsproxy.model.markup import Markup, element, join, raw
from tsproxy.model.words import many
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.admin.senders import Sender, senders
from tsproxy.proxy.admin.troubles import troubles
from tsproxy.proxy.clock_check.offsets import offset_text
from tsproxy.proxy.metrics.catalogue import CLOCK_OFFSET, CLOCK_OFFSET_MARGIN
from tsproxy.proxy.metrics.totals import Families, rows

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
    bad = senders(report.offenders, report.now_ms)
    refused = _refused(report.refused_by_kafka_4, len(report.clients_refused_by_kafka_4))
    parts = (_head(config, report, bad), _senders(bad, report.now_ms), refused, _counts(report.families))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("title", "tsproxy"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("style", raw(_STYLE)),
    )
    lost = element("p", "The proxy does not answer. The page shows its last answer.")
    main, aside = element("main", *parts), element("aside", lost, id="lost")
    body = element("body", main, aside, element("script", raw(_SCRIPT)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _head(config: Config, report: Report, bad: Sequence[Sender]) -> Markup:
    """The head of the page: the proxy's state in one sentence, some facts, and the problems if there are
    any."""
    warnings = troubles(report)
    kind, sentence = _state(report, warnings, bad)
    facts = [
        f"tsproxy {__version__}",
        mode_text(config.policy),
        f"upstream {', '.join(str(address) for address in config.upstream.bootstrap_servers)}",
        f"cluster {report.cluster_id or 'not known yet'}",
        f"{config.workers} workers" if config.workers > 1 else "",
        _clock(report.families),
    ]
    shown = [*report.not_ready, *warnings]
    return join(
        element("h1", element("span", kind.value, class_=f"state {kind.name}"), " ", sentence),
        element("p", " · ".join(fact for fact in facts if fact), class_="soft"),
        _troubles(kind, shown) if shown else None,
    )


class _Kind(StrEnum):
    """The state of the proxy, with the word with which the page begins."""

    good = "ready"
    warned = "attention"
    trouble = "not ready"


def _state(report: Report, warnings: Sequence[str], every: Sequence[Sender]) -> tuple[_Kind, str]:
    if report.not_ready:
        return _Kind.trouble, f"Clients cannot be served: {_first(report.not_ready)}"
    lately = [sender for sender in every if sender.sends_now(report.now_ms)]
    now = [sender for sender in lately if not sender.is_only_counted]
    bad = [sender for sender in now if sender.is_about_time or sender.is_rest]
    parts = []
    if any(sender.is_about_time for sender in bad):
        parts.append(f"{_producers(bad)} sent bad timestamps in the last 5 minutes")
    elif now:
        parts.append(f"records of {_producers(now)} rejected in the last 5 minutes")
    elif lately:
        parts += ["nothing rejected in the last 5 minutes", f"records of {_producers(lately)} only counted"]
    else:
        parts.append("no bad timestamps in the last 5 minutes")
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
    """The number of producers, such as `2 producers`. The row for all others stands for at least one, maybe
    for one that has rows of its own, too."""
    named = {sender.who for sender in several if not sender.is_rest}
    at_least = "at least " if any(sender.is_rest for sender in several) else ""
    return f"{at_least}{many(max(1, len(named)), 'producer')}"


def _troubles(kind: _Kind, troubles: Sequence[str]) -> Markup:
    items = element("ul", *(element("li", trouble) for trouble in troubles))
    more = 'The proxy\'s log has a line for each. The page "Log events" says what to do.'
    return element("div", items, element("p", more, class_="soft"), class_=f"troubles {kind.name}")


def _clock(families: Families) -> str:
    """The distance to the broker clock that is surely furthest away, with its margin; empty if that is not
    measured."""
    margins = {has["broker"]: seconds for has, seconds in rows(families, CLOCK_OFFSET_MARGIN.name)}
    offsets = [
        (1000 * seconds, 1000 * margins[has["broker"]]) for has, seconds in rows(families, CLOCK_OFFSET.name)
    ]
    if not offsets:
        return ""
    return f"clock {offset_text(*max(offsets, key=lambda offset: abs(offset[0]) - offset[1]))} from brokers'"


def _counts(families: Families) -> Markup:
    """The counts since the proxy started. Grafana has rates, and everything else."""

    def count(sample: str, **labels: str) -> float:
        return sum(value for _, value in rows(families, sample, **labels))

    def shown(sample: str, **labels: str) -> str:
        return f"{count(sample, **labels):,.0f}"

    records, of_bytes = "tsproxy_records_total", "tsproxy_bytes_total"
    rejected = count(records, verdict="rejected") + count(records, verdict="broker_rejected")
    held = f"{_size(count('tsproxy_buffered_bytes'))} buffered"
    dropped = f"{shown('tsproxy_decisions_dropped_total')} dropped"
    repaired, unconfirmed = count(records, verdict="repaired"), count(records, verdict="unconfirmed")
    accepted = count(records, verdict="accepted") + repaired
    share = rejected / (accepted + rejected + unconfirmed) if rejected else 0
    cards = (
        ("records accepted", f"{accepted:,.0f}", f"{repaired:,.0f} repaired" if repaired else ""),
        ("records rejected", f"{rejected:,.0f}", _percent(share) if share else ""),
        *([("records unconfirmed", f"{unconfirmed:,.0f}", "")] if unconfirmed else []),
        ("bytes from clients", _size(count(of_bytes, direction="from_client")), ""),
        ("bytes from brokers", _size(count(of_bytes, direction="from_broker")), ""),
        ("connections", shown("tsproxy_connections"), held),
        ("lines in the decision log", shown("tsproxy_decisions_total"), dropped),
    )
    parts = [
        element("div", element("dt", name), element("dd", value), element("dd", note))
        for name, value, note in cards
    ]
    return element("dl", *parts, class_="cards")


def _percent(share: float) -> str:
    """A share above 0 as a percentage. It is never rounded to 0%, and only all are 100%."""
    percent = 100 * share
    if percent < 0.1:
        return "<0.1%"
    return ">99.9%" if 99.9 < percent < 100 else f"{percent:.1f}%"


def _senders(bad: Sequence[Sender], now_ms: int) -> Markup:
    entries = [_sender(sender, now_ms) for sender in bad]
    nobody = element("p", "None since this proxy started.", class_="soft")
    body = element("ol", *entries, class_="senders") if entries else nobody
    return element("section", element("h2", "Producers with bad or rejected records"), body, id="offenders")


def _sender(sender: Sender, now_ms: int) -> Markup:
    row, sends_now = sender.row, sender.sends_now(now_ms)
    key, sent = row.key, sender.sent(now_ms)
    mistake, to_do = sender.mistake
    principal = f"as {key.principal}" if key.principal else ""
    addressed = f"from {row.client_address}" if row.client_address else ""
    first = f"{instant(row.first_ms)[:16].replace('T', ' ')} UTC"
    last = f"last {_ago(now_ms - row.last_ms)}"
    who = element(
        "div",
        element("strong", sender.name),
        element("span", f" to {key.topic}" if not sender.is_rest else ""),
        element("small", ", ".join(text for text in (principal, addressed) if text)),
    )
    what = element(
        "div",
        element("strong", mistake),
        element("span", f"To do: {to_do}") if to_do else None,
        element("small", sent) if sent else None,
    )
    counted = element(
        "div",
        element("strong", many(row.bad_records, "bad record")) if key.is_about_records else None,
        element("span", f"{many(row.records, 'record')} {sender.outcome}"),
        element("small", f"since {first} ({_ago(now_ms - row.first_ms)}), {last}"),
    )
    return element(
        "li", who, what, counted, class_="now" if sends_now and not sender.is_only_counted else None
    )


def _refused(rows: Sequence[Mapping[str, Any]], clients: int) -> Markup | None:
    """The clients that Kafka 4 refuses by their protocol, whatever their records are."""
    if not rows:
        return None
    others = clients - len({(row.get("client_id"), row.get("principal")) for row in rows})
    return element(
        "section",
        element("h2", f"Kafka 4 refuses {many(clients, 'client')}"),
        element(
            "p", "They use versions of the protocol that Kafka 4 does not accept (KIP-896).", class_="soft"
        ),
        element("ul", *(element("li", use_text(row)) for row in rows)),
        element("p", f"and {many(others, 'client')} more", class_="soft") if others else None,
    )


_SPANS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"))


def _ago(ms: int) -> str:
    """A time in the past as text, such as `7d ago`."""
    return next((f"{ms / size:.0f}{unit} ago" for size, unit in _SPANS if ms >= size), "now")


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"
