"""CPU for relaying, against other proxies and against rejecting."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench, Running
from benchmarks.frames import TWO_HOURS_MS
from benchmarks.loads import KB1, KB100, LOADS, Load
from benchmarks.processes import ProgramError
from benchmarks.proxies import AGAIN, TSPROXY, UNTHROTTLED, Proxy, tsproxy
from benchmarks.rounds import Spread, in_rounds, ratio, spread
from benchmarks.sections import Section
from benchmarks.tools import MissingError
from tsproxy.model.kafka import ErrorCode

_SETTLE_S: Final = 10.0
_ALL_PROXIES: Final = (Load(KB1), Load(KB100))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of one load: CPU and speed as ratios to the first proxy's, and shares of busy time."""

    ratios: Mapping[str, Spread]
    busy: Mapping[str, float]
    speeds: Mapping[str, Spread]


def relay(bench: Bench) -> Section:
    """CPU per request: of every proxy for two loads, and without the further ones for all loads."""
    base, *others = bench.proxies
    lines = [
        (load, compare(bench, load, bench.proxies if load in _ALL_PROXIES else bench.few_proxies()))
        for load in bench.chosen(LOADS)
    ]
    rows = []
    for load, compared in lines:
        ratios = compared.ratios
        busy = (f"{100 * compared.busy[name]:.0f}%" if name in compared.busy else "–" for name in _busy(base))
        rows.append((load.name, *(str(ratios.get(proxy.name, "–")) for proxy in others), *busy))
    return Section(
        text=f"CPU of the proxy per request, as a ratio to {base.name}'s in the same round: median "
        "[lowest–highest]. A load is a request size, and connections × requests in flight. The last columns "
        "show the share of time in which a proxy was computing. If it is well below 100%, the load or "
        "another program held the proxy back. A proxy that is held back may gather fewer requests into one "
        f"read, and then each request costs more. If only {base.name} was held back, the ratios may be too "
        f"good for the others.{_noise(lines)}",
        head=(
            "load",
            *(proxy.name for proxy in others),
            *(f"{name} busy" for name in _busy(base)),
        ),
        rows=rows,
    )


def _noise(lines: Sequence[tuple[Load, Comparison]]) -> str:
    """The baseline's ratios to itself: any other ratio may have the same error."""
    found = [compared.ratios[AGAIN.name] for _, compared in lines if AGAIN.name in compared.ratios]
    if not found:
        return ""
    lowest, highest = min(each.lowest for each in found), max(each.highest for each in found)
    return (
        f" Noise: the ratios of {AGAIN.name}, which should be 1, were between {lowest:.2f} and {highest:.2f}."
    )


def _busy(base: Proxy) -> tuple[str, ...]:
    """The names of the proxies whose share of time the page shows."""
    return tuple(dict.fromkeys((base.name, TSPROXY.name)))


def compare(bench: Bench, load: Load, proxies: Sequence[Proxy]) -> Comparison:
    """Compares `proxies` under one load. The result is empty if one fails, so that other loads go on."""
    try:
        return _compared(bench, load, proxies)
    except ProgramError as error:
        bench.failed[f"{load.name}: {error}"] = None
        return Comparison({}, {}, {})


def _compared(bench: Bench, load: Load, proxies: Sequence[Proxy]) -> Comparison:
    """Compares `proxies` under one load. The result is empty if this machine cannot make the load."""
    with ExitStack() as stack:
        try:
            sink = stack.enter_context(bench.sink())
            targets = {
                proxy.name: stack.enter_context(bench.proxy(proxy, sink, is_tls=load.is_tls))
                for proxy in proxies
            }
        except MissingError as error:
            bench.missing[str(error)] = None
            return Comparison({}, {}, {})
        runs = in_rounds(
            bench.effort.rounds, {name: partial(bench.load, load, target) for name, target in targets.items()}
        )
    if TSPROXY.name in runs:
        bench.of_tsproxy[load] = runs[TSPROXY.name]
    costs = {name: [run.cpu_per_request for run in results] for name, results in runs.items()}
    base, *others = costs
    return Comparison(
        {name: ratio(costs[name], costs[base]) for name in others},
        {name: spread([run.busy for run in results]).median for name, results in runs.items()},
        {
            name: ratio(*([run.requests_per_s for run in runs[each]] for each in (name, base)))
            for name in others
        },
    )


def reject(bench: Bench) -> Section:
    """The CPU of rejections: every batch is two hours ahead."""
    unthrottled = Proxy("tsproxy, unthrottled", tsproxy(*UNTHROTTLED))
    rows = []
    for shape in (KB1, KB100):
        good = Load(shape)
        bad = Load(replace(shape, ahead_ms=TWO_HOURS_MS), expected_code=ErrorCode.INVALID_TIMESTAMP)
        with bench.sink() as sink, bench.proxy(unthrottled, sink) as proxy:
            settle(bench, bad, proxy)
            before = _log_bytes(proxy.folder)
            runs = in_rounds(
                bench.effort.rounds,
                {"good": partial(bench.load, good, proxy), "bad": partial(bench.load, bad, proxy)},
            )
            assert proxy.program is not None
            proxy.program.stop()
            grown = _log_bytes(proxy.folder) - before
        cost = ratio(*([run.cpu_per_request for run in runs[name]] for name in ("bad", "good")))
        sent = sum(run.sent_bytes for run in runs["bad"])
        rows.append((good.name, str(cost), f"{100 * grown / sent:.2f}%"))
    return Section(
        text="CPU of tsproxy per request when every batch is rejected (code 32, clients not throttled), as a "
        "ratio to forwarding the same requests. The last column shows how much the decision log grew, in per "
        "cent of the rejected bytes.",
        head=("load", "rejecting / relaying", "decision log"),
        rows=rows,
    )


def settle(bench: Bench, load: Load, proxy: Running) -> None:
    """Sends `load` until it is judged as expected: the proxy asks for a topic's limits at its first use."""
    deadline = time.monotonic() + _SETTLE_S
    while True:
        try:
            with bench.generator(load, proxy, warm_up=1):
                return
        except ProgramError:
            if time.monotonic() > deadline:
                raise


def _log_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in (folder / "decisions").rglob("*") if file.is_file())
