"""The paths of the admin port, and their contents.

/               one page for people, live
/metrics        Prometheus
/livez          200 while the event loop runs and no worker hangs, else 503 and the workers that hang
/readyz         200 while clients should connect here, else 503 and the reasons, one line each
/readyz?verbose the same status; also problems while clients are served, one line each
/config         the configuration in force as YAML, without secrets
/brokers        JSON: the brokers, and where each listener serves them
/decisions/top  JSON: the top offenders, highest score first, and the clients that Kafka 4 refuses
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, Final, Protocol, TypeVar

import orjson

from tsproxy.config.parsed import Parsed
from tsproxy.config.settings import Config
from tsproxy.config.written import as_yaml
from tsproxy.decisions.text import instant
from tsproxy.proxy.admin import live
from tsproxy.proxy.admin.http import Answer, Document, Page
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.admin.troubles import troubles
from tsproxy.proxy.metrics.totals import as_text

METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
JSON: Final = "application/json"
YAML: Final = "application/yaml; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"

Made = TypeVar("Made")


class AdminState(Protocol):
    """One proxy, or a supervisor that reports for several."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    def hanging(self) -> list[str]:
        """A sentence for each worker that does not answer any more."""

    async def not_ready(self) -> Sequence[str]:
        """A sentence for each reason why no client should connect here now. Cheap: anybody may ask."""

    async def report(self) -> Report:
        """The state now."""


def pages(shown: AdminState) -> Mapping[str, Page]:
    """The pages by path. Most need a report of the proxy's state, which takes milliseconds of the event loop.
    One such page is made at a time, so that many requests do not hold the loop together."""
    one_at_a_time = asyncio.Lock()

    async def ready() -> Answer:
        return _ok_if_none(await shown.not_ready(), "ready")

    def from_report(page: Callable[[Report], Made]) -> Callable[[], Awaitable[Made]]:
        async def made() -> Made:
            async with one_at_a_time:
                return page(await shown.report())

        return made

    live_page = from_report(lambda report: live.page(shown.config, report).encode())
    return {
        "/": Document(HTML, live_page, (f"Content-Security-Policy: {live.POLICY}",)),
        "/metrics": Document(METRICS, from_report(lambda report: as_text(report.families))),
        "/livez": lambda: _ok_if_none(shown.hanging(), "alive"),
        "/readyz": ready,
        "/readyz?verbose": from_report(_readyz_verbose),
        "/config": Document(YAML, _Configuration(shown).text),
        "/brokers": Document(JSON, from_report(_brokers)),
        "/decisions/top": Document(JSON, from_report(_top)),
    }


class _Configuration:
    """The configuration in force. To write one with hundreds of rules takes 0.2 s of CPU, so a
    thread writes each configuration once."""

    def __init__(self, shown: AdminState) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._shown = shown
        self._written: tuple[Parsed, bytes] | None = None

    async def text(self) -> bytes:
        async with self._one_at_a_time:
            parsed = self._shown.config.parsed
            if self._written is None or self._written[0] is not parsed:
                self._written = parsed, (await asyncio.to_thread(as_yaml, parsed)).encode()
            return self._written[1]


def _readyz_verbose(report: Report) -> Answer:
    status = HTTPStatus.SERVICE_UNAVAILABLE if report.not_ready else HTTPStatus.OK
    lines = [f"not ready: {reason}" for reason in report.not_ready] or ["ready"]
    lines += [f"warning: {trouble}" for trouble in troubles(report)]
    return Answer(status, "".join(f"{line}\n" for line in lines).encode())


def _ok_if_none(troubles: Sequence[str], word: str) -> Answer:
    if troubles:
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "".join(f"{text}\n" for text in troubles).encode())
    return Answer(HTTPStatus.OK, f"{word}\n".encode())


def _brokers(report: Report) -> bytes:
    brokers = [asdict(broker) for broker in report.brokers]
    return _json({"cluster_id": report.cluster_id, "brokers": brokers})


def _top(report: Report) -> bytes:
    rows = []
    for offender in report.offenders:
        row = offender.as_line()
        row |= {"first_ts": instant(row.pop("first_ms")), "last_ts": instant(row.pop("last_ms"))}
        rows.append({**row, "score": round(offender.score_at(report.now_ms), 1)})
    refused = {
        "clients_refused_by_kafka_4": len(report.clients_refused_by_kafka_4),
        "refused_by_kafka_4": report.refused_by_kafka_4,
    }
    return _json({"ts": instant(report.now_ms), "offenders": rows, **refused})


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
