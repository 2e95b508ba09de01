"""The cost of the decision log when everything is rejected, with many clients or many client ids."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench, Running
from benchmarks.proxies import UNTHROTTLED, Proxy, tsproxy
from benchmarks.sections import Section

CLIENTS: Final = 10_000
_CONNECTIONS: Final = 200
FEW: Final = 2 * _CONNECTIONS
"""Two clients per connection, so that the fast path cannot repeat the previous rejection. A repeated
rejection would cost only a fraction of the rejections of many clients, and the ratio would mean nothing."""
_INTERVALS: Final = 3
_SECONDS_FACTOR: Final = 10
_MIB: Final = 1024 * 1024
_PROGRAM: Final = (
    "env",
    f"PYTHONPATH={Path(__file__).parents[1]}",
    sys.executable,
    "-m",
    "benchmarks.crowd",
)


@dataclass(frozen=True, slots=True)
class _Storm:
    """The result of one crowd."""

    requests: int
    cpu_us: float
    log_mib: float
    """The growth of the decision log in one interval."""
    grown_mib: float
    p99_ms: float
    longest_ms: float


def storm(bench: Bench) -> Section:
    """The same rejections from few clients, from 10,000, and from a client with a new id each time."""
    crowds = ((f"{FEW} clients", FEW), (f"{CLIENTS:,} clients", CLIENTS), ("a new client id each time", 0))
    interval_s = max(1, round(bench.effort.seconds * _SECONDS_FACTOR / _INTERVALS))
    storms = {name: _storm(bench, clients, interval_s) for name, clients in crowds}
    few, *_ = storms.values()
    return Section(
        text=f"Every batch is rejected, over {_CONNECTIONS} connections with one request of 1 KB in flight "
        "each. Client ids take turns on the connections, so that the fast path cannot repeat the rejection "
        f"before. Counters are written every {interval_s} s here (every minute by default), and the decision "
        "log's bytes are those of one interval. Memory is the largest growth of resident memory since the "
        "connections were opened. CPU is that of one rejection, as a ratio to that with few clients. The "
        "longest answer shows that the event loop does not stop while counters are written.",
        head=("clients", "rejected", "decision log", "memory", "CPU", "p99", "longest answer"),
        rows=[
            (
                name,
                f"{made.requests:,}",
                f"{made.log_mib:.2f} MiB",
                f"{made.grown_mib:.0f} MiB",
                f"{made.cpu_us / few.cpu_us:.2f}",
                f"{made.p99_ms:.0f} ms",
                f"{made.longest_ms:.0f} ms",
            )
            for name, made in storms.items()
        ],
    )


def _storm(bench: Bench, clients: int, interval_s: int) -> _Storm:
    proxy = Proxy("tsproxy, storm", tsproxy(*UNTHROTTLED, "--set", f"decisions.interval={interval_s}s"))
    with bench.sink() as sink, bench.proxy(proxy, sink) as running:
        assert running.program is not None
        seconds = bench.effort.seconds * _SECONDS_FACTOR
        command = (*_PROGRAM, *_options(running, clients, seconds))
        with bench.helper("crowd", command) as crowd:
            log_before, memory_before = _log_bytes(running.folder), running.program.rss_bytes()
            cpu_before = running.program.settled_cpu_s()
            crowd.say("go")
            facts = json.loads(crowd.hear())
            cpu_s = running.program.settled_cpu_s() - cpu_before
            grown = running.program.peak_rss_bytes() - memory_before
            log_grown = _log_bytes(running.folder) - log_before
            crowd.say("leave")
    return _Storm(
        facts["requests"],
        1e6 * cpu_s / facts["requests"],
        log_grown / _MIB / (seconds / interval_s),
        max(0, grown) / _MIB,
        facts["p99_ms"],
        facts["longest_ms"],
    )


def _options(running: Running, clients: int, seconds: float) -> tuple[str, ...]:
    options = {"port": running.port, "connections": _CONNECTIONS, "clients": clients, "seconds": seconds}
    return tuple(word for name, value in options.items() for word in (f"--{name}", str(value)))


def _log_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in (folder / "decisions").iterdir())
