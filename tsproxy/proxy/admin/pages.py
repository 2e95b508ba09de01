"""The paths of the admin port, and their contents.

/               one page for people, live
/metrics        Prometheus
/livez          200 while the event loop runs and no worker hangs, else 503 and the workers that hang
/readyz         200 while clients should connect here, else 503 and the reasons, one line each
/readyz?verbose the same status; also problems while clients are served, one line each
/config         the configuration in force as YAML, without secrets
/brokers        JSON: the brokers, and where each listener serves them
/decisions/top  JSON: the top offenders, highest score first
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, Final, Protocol

import orjson
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.config.parsed import Parsed
from tsproxy.config.settings import Config
from tsproxy.config.written import as_yaml
from tsproxy.decisions.text import instant
from tsproxy.proxy.admin import live
from tsproxy.proxy.admin.http import Answer, Page
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.admin.troubles import troubles
from tsproxy.proxy.metrics.totals import Families, as_metrics

METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
JSON: Final = "application/json"
YAML: Final = "application/yaml; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"


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

    def from_report(page: Callable[[Report], Answer]) -> Callable[[], Awaitable[Answer]]:
        async def answer() -> Answer:
            async with one_at_a_time:
                return page(await shown.report())

        return answer

    return {
        "/": from_report(lambda report: _live(shown.config, report)),
        "/metrics": from_report(_metrics),
        "/livez": lambda: _ok_if_none(shown.hanging(), "alive"),
        "/readyz": ready,
        "/readyz?verbose": from_report(_readyz_verbose),
        "/config": _Configuration(shown).page,
        "/brokers": from_report(_brokers),
        "/decisions/top": from_report(_top),
    }


class _Configuration:
    """The configuration in force as a page. To write one with hundreds of rules takes 0.2 s of CPU, so a
    thread writes each configuration once."""

    def __init__(self, shown: AdminState) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._shown = shown
        self._written: tuple[Parsed, Answer] | None = None

    async def page(self) -> Answer:
        async with self._one_at_a_time:
            parsed = self._shown.config.parsed
            if self._written is None or self._written[0] is not parsed:
                text = await asyncio.to_thread(as_yaml, parsed)
                self._written = parsed, Answer(HTTPStatus.OK, text.encode(), YAML)
            return self._written[1]


def _live(config: Config, report: Report) -> Answer:
    policy = f"Content-Security-Policy: {live.POLICY}"
    return Answer(HTTPStatus.OK, live.page(config, report).encode(), HTML, headers=(policy,))


def _metrics(report: Report) -> Answer:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given(report.families))
    return Answer(HTTPStatus.OK, generate_latest(registry), METRICS)


class _Given(Collector):
    def __init__(self, families: Families) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return list(as_metrics(self._families))


def _readyz_verbose(report: Report) -> Answer:
    status = HTTPStatus.SERVICE_UNAVAILABLE if report.not_ready else HTTPStatus.OK
    lines = [f"not ready: {each}" for each in report.not_ready] or ["ready"]
    lines += [f"warning: {each}" for each in troubles(report)]
    return Answer(status, "".join(f"{each}\n" for each in lines).encode())


def _ok_if_none(troubles: Sequence[str], word: str) -> Answer:
    if troubles:
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "".join(f"{each}\n" for each in troubles).encode())
    return Answer(HTTPStatus.OK, f"{word}\n".encode())


def _brokers(report: Report) -> Answer:
    brokers = [asdict(each) for each in report.brokers]
    return _json({"cluster_id": report.cluster_id, "brokers": brokers})


def _top(report: Report) -> Answer:
    rows = []
    for each in report.offenders:
        row = each.as_line()
        row |= {"first_ts": instant(row.pop("first_ms")), "last_ts": instant(row.pop("last_ms"))}
        rows.append({**row, "score": round(each.score_at(report.now_ms), 1)})
    return _json({"ts": instant(report.now_ms), "offenders": rows})


def _json(value: Any) -> Answer:
    return Answer(HTTPStatus.OK, orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n", JSON)
