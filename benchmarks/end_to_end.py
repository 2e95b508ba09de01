"""Kafka's own performance tool, which users measure with, through each proxy to one real broker.

The tool is `kafka-producer-perf-test`, started as a Java class. Proxies, tool and broker share all CPUs, as
on a small machine.
"""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench, Running, direct
from benchmarks.broker import broker, in_front_of
from benchmarks.processes import ProgramError
from benchmarks.proxies import HAPROXY, PEERS, TSPROXY, Proxy, tsproxy
from benchmarks.rounds import in_rounds, ratio, spread
from benchmarks.sections import Section
from tsproxy.testing.java import java_command
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

RATE: Final = 5_000
"""Records a second that every contender can carry."""

_WORKERS: Final = Proxy("tsproxy, 4 workers", tsproxy("--loop", "uvloop", "--workers", "4"))
_NO_PROXY: Final = "no proxy"
_PARTITIONS: Final = 4
_TOPIC: Final = "written"
_FINEST_MS: Final = 1.0
"""The tool prints whole milliseconds."""

_PACED_FACTOR: Final = 3
"""A 99.9th percentile needs thousands of records, so a run at the fixed rate is longer than other rounds."""
_WARM_UP_FACTOR: Final = 1
_QUICK_RECORDS: Final = 1_000
_PERFORMANCE: Final = re.compile(
    r"([\d.]+) records/sec.* ms max latency, "
    r"([\d.]+) ms 50th, [\d.]+ ms 95th, ([\d.]+) ms 99th, ([\d.]+) ms 99.9th"
)


@dataclass(frozen=True, slots=True)
class Sent:
    """The throughput and latencies of one producer."""

    records_per_s: float
    p50_ms: float
    p99_ms: float
    p999_ms: float


@dataclass(frozen=True, slots=True)
class Paced:
    """One run at the fixed rate: what the producer printed, and the proxy's CPU."""

    sent: Sent
    cpu_s: float


def _pace(bench: Bench, jars: Path, target: Running) -> Paced:
    """A producer at the fixed rate. The statistics leave out its first records."""
    warm_up, records = (_records(bench, RATE * factor) for factor in (_WARM_UP_FACTOR, _PACED_FACTOR))
    command = java_command(
        [jars / "*"],
        "256m",
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", _TOPIC, "--num-records", str(warm_up + records), "--record-size", "1000"),
        *("--throughput", str(RATE), "--warmup-records", str(warm_up)),
        *("--bootstrap-server", f"127.0.0.1:{target.port}"),
        *("--command-property", "acks=all", "linger.ms=5"),
    )
    before_s = target.program.settled_cpu_s() if target.program else 0.0
    sent = read_performance(bench.workshop.output("producer", command))
    after_s = target.program.settled_cpu_s() if target.program else 0.0
    return Paced(sent, after_s - before_s)


def _records(bench: Bench, per_second: float) -> int:
    effort = bench.effort
    return _QUICK_RECORDS if effort.requests is not None else int(per_second * effort.seconds)


def read_performance(output: str) -> Sent:
    """The result that Kafka's own tool printed. Raises ProgramError without one."""
    found = _PERFORMANCE.findall(output)
    if not found:
        raise ProgramError(f"ProducerPerformance said no result: {output[-500:]}")
    return Sent(*map(float, found[-1]))  # the last line is about the whole run, or all but the warm-up


def end_to_end(bench: Bench) -> Section:
    """Latency and CPU at a fixed rate."""
    contenders = [proxy for proxy in bench.proxies if proxy in (HAPROXY, TSPROXY) or proxy.name in PEERS]
    if TSPROXY in contenders:
        contenders.append(_WORKERS)
    with broker(bench, [HAPROXY.name], shares_cpus=True) as kafka, ExitStack() as stack:
        kafka.create_topic(_TOPIC, _PARTITIONS)
        targets = {
            proxy.name: stack.enter_context(in_front_of(bench, kafka, proxy, shares_cpus=True))
            for proxy in contenders
        } | {_NO_PROXY: direct(kafka.port)}
        runs = in_rounds(
            bench.effort.rounds,
            {name: partial(_pace, bench, kafka.jars, target) for name, target in targets.items()},
        )
    base, *_ = targets
    p99_ms = {name: [max(_FINEST_MS, run.sent.p99_ms) for run in paced] for name, paced in runs.items()}
    cpu_s = {name: [run.cpu_s for run in paced] for name, paced in runs.items()}
    return Section(
        text=_text(base),
        head=("through", "p50, ms", "p99, ms", "p99.9, ms", f"p99, {base} = 1", f"CPU, {base} = 1"),
        rows=[
            (
                name,
                *(
                    str(spread([getattr(run.sent, what) for run in runs[name]]))
                    for what in ("p50_ms", "p99_ms", "p999_ms")
                ),
                str(ratio(p99_ms[name], p99_ms[base])),
                "–" if name == _NO_PROXY else str(ratio(cpu_s[name], cpu_s[base])),
            )
            for name in targets
        ],
    )


def _text(base: str) -> str:
    return (
        f"Kafka's own `kafka-producer-perf-test` with one Apache Kafka {DEFAULT_VERSION} broker: {RATE:,} "
        f"records of 1 KB a second, which every row can carry, acks=all, linger.ms=5, {_PARTITIONS} "
        "partitions. The tool prints latency in whole milliseconds, so small differences cannot be seen. In "
        "a ratio, 0 ms counts as 1 ms. CPU is that of all processes of the proxy, while the producer starts, "
        f"sends and ends. All ratios are to {base}'s in the same round. The broker has a listener for each "
        "TCP proxy, which advertises the proxy's address. Proxies, tool and broker share all CPUs. One "
        "client has few connections, so some of the workers have nothing to do here. Their row shows what "
        "they cost."
    )
