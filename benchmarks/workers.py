"""The cost of more workers on one CPU: CPU, throughput and latency."""

from contextlib import ExitStack
from functools import partial
from typing import Final

from benchmarks.bench import Bench
from benchmarks.loads import KB1, Load
from benchmarks.proxies import Proxy, tsproxy
from benchmarks.relay import settle
from benchmarks.rounds import in_rounds, ratio, spread
from benchmarks.sections import Section

_WORKERS: Final = (1, 4)
_LOAD: Final = Load(KB1, 64, 5)
"""Enough connections that the kernel, which divides them by hash, gives some to each worker."""


def workers(bench: Bench) -> Section:
    """The same load through proxies with one worker and with more."""
    with ExitStack() as stack:
        sink = stack.enter_context(bench.sink())
        targets = {}
        for count in _WORKERS:
            proxy = Proxy(f"tsproxy, {count}", tsproxy("--loop", "uvloop", "--workers", str(count)))
            targets[str(count)] = stack.enter_context(bench.proxy(proxy, sink))
            settle(bench, _LOAD, targets[str(count)])
        full = in_rounds(
            bench.effort.rounds,
            {name: partial(bench.load, _LOAD, target) for name, target in targets.items()},
        )
        rate = spread([run.requests_per_s for run in full["1"]]).median / 2
        half = in_rounds(
            bench.effort.rounds,
            {name: partial(bench.load, _LOAD, target, rate=rate) for name, target in targets.items()},
        )
    cpu = {name: [run.cpu_per_request for run in runs] for name, runs in full.items()}
    speed = {name: [run.requests_per_s for run in runs] for name, runs in full.items()}
    return Section(
        text=f"{_LOAD.name}. All workers of a proxy share one CPU, and generator and sink have another one: "
        "the rows show what more workers cost where there are no more cores. With a core for each worker "
        "throughput grows with them; this machine has none to spare, so that is not measured. CPU and "
        "throughput are ratios to one worker. Latency is measured in an open loop, at half of the rate that "
        "saturates one worker. With more workers a read finds fewer requests, so each pays for more of its "
        "read.",
        head=("workers", "CPU a request", "throughput", "p50, µs", "p99, µs"),
        rows=[
            (
                name,
                str(ratio(cpu[name], cpu["1"])),
                str(ratio(speed[name], speed["1"])),
                str(spread([run.p50_us for run in half[name]])),
                str(spread([run.p99_us for run in half[name]])),
            )
            for name in targets
        ],
    )
