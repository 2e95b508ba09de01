"""Kafka's own performance tools, which users measure with, through each proxy to one real broker.

The tools are `kafka-producer-perf-test` and `kafka-consumer-perf-test`, started as Java classes. Proxies,
tools and broker share all CPUs, as on a small machine.
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
from benchmarks.proxies import AGAIN, HAPROXY, PEERS, TSPROXY, Proxy, tsproxy
from benchmarks.rounds import in_rounds, ratio, spread
from benchmarks.sections import Section
from tsproxy.testing.java import java_command
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

RATE: Final = 5_000
"""Records a second that every contender can carry."""

_WORKERS: Final = tuple(
    Proxy(f"tsproxy, {count} workers", tsproxy("--loop", "uvloop", "--workers", str(count)))
    for count in (2, 4)
)
_TCP: Final = (HAPROXY, AGAIN)
_NO_PROXY: Final = "no proxy"
_PARTITIONS: Final = 4
_WRITTEN: Final = "written"
_READ: Final = "read"
_FINEST_MS: Final = 1.0
"""The tool prints whole milliseconds."""

_PACED_FACTOR: Final = 3
"""A 99.9th percentile needs thousands of records, so a run at the fixed rate is longer than other rounds."""
_WARM_UP_FACTOR: Final = 1
_WRITES_A_SECOND: Final = 100_000
_READS_A_SECOND: Final = 300_000
"""Estimates, so that a run at full speed lasts about as long as other rounds."""
_QUICK_RECORDS: Final = 1_000
_FAST_SHARE: Final = 0.4
"""The share of rounds at full speed."""

_P99: Final = "p99 at the fixed rate"
_CPU: Final = "CPU at the fixed rate"
_MAX_WRITTEN: Final = "most written"
_MAX_READ: Final = "most read"

_MESSAGES_COLUMN: Final = 4
_FETCH_SPEED_COLUMN: Final = 8
_CONSUMED: Final = re.compile(r"^\d{4}-.*", re.MULTILINE)
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


@dataclass(frozen=True, slots=True)
class _Tools:
    """Kafka's tools, with sizes for the effort of this run."""

    bench: Bench
    jars: Path

    def fill(self, target: Running) -> None:
        """Writes the records that consumers read, and reads them once, so that the topic of groups exists."""
        self._produce(target, _READ, self._records(_READS_A_SECOND), 0)
        self.read(target)

    def pace(self, target: Running) -> Paced:
        """A producer at the fixed rate."""
        warm_up = self._records(RATE * _WARM_UP_FACTOR)
        records = warm_up + self._records(RATE * _PACED_FACTOR)
        before_s = target.program.settled_cpu_s() if target.program else 0.0
        sent = self._produce(target, _WRITTEN, records, RATE, warm_up)
        after_s = target.program.settled_cpu_s() if target.program else 0.0
        return Paced(sent, after_s - before_s)

    def write(self, target: Running) -> float:
        """Records a second of a producer at full speed."""
        return self._produce(target, _WRITTEN, self._records(_WRITES_A_SECOND), 0).records_per_s

    def read(self, target: Running) -> float:
        """MB a second of a consumer at full speed."""
        records = self._records(_READS_A_SECOND)
        command = java_command(
            [self.jars / "*"],
            "256m",
            "org.apache.kafka.tools.ConsumerPerformance",
            *("--bootstrap-server", _address(target), "--topic", _READ, "--num-records", str(records)),
        )
        return read_consumer_performance(self.bench.workshop.output("consumer", command), records)

    def _produce(self, target: Running, topic: str, records: int, rate: float, warm_up: int = 0) -> Sent:
        """The statistics leave out the first `warm_up` records. A `rate` of 0 is full speed."""
        command = java_command(
            [self.jars / "*"],
            "256m",
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", topic, "--num-records", str(records), "--record-size", "1000"),
            *("--throughput", str(round(rate)) if rate else "-1"),
            *(("--warmup-records", str(warm_up)) if warm_up else ()),
            *("--bootstrap-server", _address(target), "--command-property", "acks=all", "linger.ms=5"),
        )
        return read_performance(self.bench.workshop.output("producer", command))

    def _records(self, per_second: float) -> int:
        effort = self.bench.effort
        return _QUICK_RECORDS if effort.requests is not None else int(per_second * effort.seconds)


def read_performance(output: str) -> Sent:
    """The result that Kafka's own tool printed. Raises ProgramError without one."""
    found = _PERFORMANCE.findall(output)
    if not found:
        raise ProgramError(f"ProducerPerformance said no result: {output[-500:]}")
    return Sent(*map(float, found[-1]))  # the last line is about the whole run, or all but the warm-up


def read_consumer_performance(output: str, records: int) -> float:
    """MB a second from what `ConsumerPerformance` printed, without the time it needed to join its group.

    Raises ProgramError if it read fewer than `records`.
    """
    found = _CONSUMED.findall(output)
    if not found:
        raise ProgramError(f"ConsumerPerformance said no result: {output[-500:]}")
    columns = found[-1].split(", ")
    if int(columns[_MESSAGES_COLUMN]) < records:
        raise ProgramError(f"{columns[_MESSAGES_COLUMN]} of {records} records were read")
    return float(columns[_FETCH_SPEED_COLUMN])


def end_to_end(bench: Bench) -> Section:
    """Latency and CPU at a fixed rate, and the highest speeds."""
    contenders = [proxy for proxy in bench.proxies if proxy in (*_TCP, TSPROXY) or proxy.name in PEERS]
    if TSPROXY in contenders:
        contenders += _WORKERS
    tcp = [proxy.name for proxy in contenders if proxy in _TCP]
    with broker(bench, tcp, shares_cpus=True) as kafka, ExitStack() as stack:
        for topic in (_WRITTEN, _READ):
            kafka.create_topic(topic, _PARTITIONS)
        targets = {
            proxy.name: stack.enter_context(in_front_of(bench, kafka, proxy, shares_cpus=True))
            for proxy in contenders
        } | {_NO_PROXY: direct(kafka.port)}
        tools = _Tools(bench, kafka.jars)
        tools.fill(targets[_NO_PROXY])
        few = max(1, round(_FAST_SHARE * bench.effort.rounds))
        paced = in_rounds(
            bench.effort.rounds, {name: partial(tools.pace, target) for name, target in targets.items()}
        )
        written = in_rounds(few, {name: partial(tools.write, target) for name, target in targets.items()})
        read = in_rounds(few, {name: partial(tools.read, target) for name, target in targets.items()})
    base, *_ = targets
    p99_ms = {name: [max(_FINEST_MS, run.sent.p99_ms) for run in runs] for name, runs in paced.items()}
    cpu_s = {name: [run.cpu_s for run in runs] for name, runs in paced.items()}
    ratios = {
        name: {
            what: ratio(values[name], values[base])
            for what, values in ((_P99, p99_ms), (_CPU, cpu_s), (_MAX_WRITTEN, written), (_MAX_READ, read))
        }
        for name in targets
    }
    return Section(
        text=_text(base),
        head=(
            *("through", "p50, ms", "p99, ms", "p99.9, ms"),
            *(f"p99, {base} = 1", f"CPU, {base} = 1", _MAX_WRITTEN, _MAX_READ),
        ),
        rows=[
            (
                name,
                *(
                    str(spread([getattr(run.sent, what) for run in paced[name]]))
                    for what in ("p50_ms", "p99_ms", "p999_ms")
                ),
                str(each[_P99]),
                "–" if name == _NO_PROXY else str(each[_CPU]),
                str(each[_MAX_WRITTEN]),
                str(each[_MAX_READ]),
            )
            for name, each in ratios.items()
        ],
    )


def _text(base: str) -> str:
    return (
        "Kafka's own `kafka-producer-perf-test` and `kafka-consumer-perf-test` with one Apache Kafka "
        f"{DEFAULT_VERSION} broker: records of 1 KB, acks=all, linger.ms=5, {_PARTITIONS} partitions. "
        f"Latency and CPU are those of {RATE:,} records a second, which every row can carry. The tool "
        "prints latency in whole milliseconds, so small differences cannot be seen. In a ratio, 0 ms counts "
        "as 1 ms. CPU is that of all processes of the proxy, while the producer starts, sends and ends. The "
        "last columns have the highest speeds, as ratios: records a second of the producer, and MB a second "
        f"of the consumer after it has joined its group. All ratios are to {base}'s in the same round. The "
        "broker has a listener for each TCP proxy, which advertises the proxy's address. Proxies, tools and "
        "broker share all CPUs. One client has few connections, so some of the workers have nothing to do "
        "here. Their rows show what they cost."
    )


def _address(target: Running) -> str:
    return f"127.0.0.1:{target.port}"
