"""Throughput and latency of real producers with a real broker, with and without the proxy.

Only tsproxy is measured here. A TCP proxy does not rewrite addresses, so real clients bypass it after their
first request. `end_to_end` gives it a listener of its own, and measures both.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench
from benchmarks.processes import Command, ProgramError
from benchmarks.proxies import TSPROXY, TSPROXY_ASYNCIO
from benchmarks.rounds import in_rounds, ratio, spread
from benchmarks.sections import Section
from benchmarks.tools import MissingError
from tsproxy.testing.jars import JarsError, fetch_kafka_jars
from tsproxy.testing.java import JavaError
from tsproxy.testing.java_process import java_command
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION, KafkaCluster

_LIBRDKAFKA: Final = Path(__file__).with_name("librdkafka.py")
_TOPIC: Final = "bench"
_PARTITIONS: Final = 4
_RECORDS_A_SECOND: Final = 100_000
"""An estimate, so that a run lasts about as long as other rounds."""

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
class Producer:
    """Starts one producer: (bootstrap, records, records a second or 0 for full speed) -> command."""

    name: str
    command: Callable[[str, int, float], Command]
    read: Callable[[str], Sent]


def producer_performance(
    jars: Path, bootstrap: str, topic: str, records: int, rate: float, warm_up: int = 0
) -> Command:
    """Kafka's own tool: `records` of 1 KB, `rate` a second or 0 for full speed.

    The statistics leave out the first `warm_up` of them.
    """
    return java_command(
        [jars / "*"],
        "256m",
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", "1000"),
        *("--throughput", str(round(rate)) if rate else "-1"),
        *(("--warmup-records", str(warm_up)) if warm_up else ()),
        *("--bootstrap-server", bootstrap, "--command-property", "acks=all", "linger.ms=5"),
    )


def read_performance(output: str) -> Sent:
    """The result that Kafka's own tool printed. Raises ProgramError without one."""
    found = _PERFORMANCE.findall(output)
    if not found:
        raise ProgramError(f"ProducerPerformance said no result: {output[-500:]}")
    return Sent(*map(float, found[-1]))  # the last line is about the whole run, or all but the warm-up


def _java(jars: Path) -> Producer:
    def command(bootstrap: str, records: int, rate: float) -> Command:
        return producer_performance(jars, bootstrap, _TOPIC, records, rate)

    return Producer("Java producer", command, read_performance)


def _librdkafka() -> Producer:
    def command(bootstrap: str, records: int, rate: float) -> Command:
        return (
            *(Path(sys.executable), _LIBRDKAFKA, "--bootstrap", bootstrap, "--topic", _TOPIC),
            *("--records", str(records), "--rate", str(round(rate))),
        )

    return Producer("librdkafka producer", command, lambda output: Sent(**json.loads(output)))


def clients(bench: Bench) -> Section:
    """Throughput at full speed and added latency at half of it, for two real producers."""
    try:
        return asyncio.run(_with_a_broker(bench, fetch_kafka_jars(DEFAULT_VERSION)))
    except (JavaError, JarsError) as error:
        raise MissingError(str(error)) from error


async def _with_a_broker(bench: Bench, jars: Path) -> Section:
    async with KafkaCluster() as kafka:
        await kafka.create_topic(_TOPIC, partitions=_PARTITIONS)
        broker = kafka.node(kafka.node_ids[0]).port
        rows = await asyncio.to_thread(_compare, bench, broker, (_java(jars), _librdkafka()))
    return Section(
        text=f"Records of 1 KB, acks=all, {_PARTITIONS} partitions, one Apache Kafka {DEFAULT_VERSION} "
        "broker. Throughput is a ratio to the same producer without a proxy. Latency is what the proxy adds, "
        "in ms, while producers send at half of their throughput through tsproxy. Producer, proxy and broker "
        "share the machine's CPUs.",
        head=("producer", "through", "throughput", "p50, ms more", "p99, ms more", "p99.9, ms more"),
        rows=rows,
    )


def _compare(bench: Bench, broker_port: int, producers: tuple[Producer, ...]) -> list[tuple[str, ...]]:
    rows = []
    with ExitStack() as stack:
        ports = {"no proxy": broker_port} | {
            proxy.name: stack.enter_context(bench.proxy(proxy, broker_port)).port
            for proxy in bench.proxies
            if proxy in (TSPROXY, TSPROXY_ASYNCIO)
        }
        for producer in producers:
            records = max(
                1_000, int(_RECORDS_A_SECOND * (bench.effort.seconds if bench.effort.requests is None else 0))
            )
            fast = _runs(bench, producer, ports, records, 0.0)
            rate = spread([sent.records_per_s for sent in fast[TSPROXY.name]]).median / 2
            even = _runs(bench, producer, ports, records, rate)
            for name in list(ports)[1:]:
                speed = ratio(*([sent.records_per_s for sent in fast[each]] for each in (name, "no proxy")))
                added = (
                    spread(
                        [
                            getattr(a, what) - getattr(b, what)
                            for a, b in zip(even[name], even["no proxy"], strict=True)
                        ]
                    )
                    for what in ("p50_ms", "p99_ms", "p999_ms")
                )
                rows.append((producer.name, name, str(speed), *map(str, added)))
    return rows


def _runs(
    bench: Bench, producer: Producer, ports: dict[str, int], records: int, rate: float
) -> dict[str, list[Sent]]:
    def send(port: int) -> Sent:
        command = producer.command(f"127.0.0.1:{port}", records, rate)
        return producer.read(bench.workshop.output(producer.name, command))

    return in_rounds(bench.effort.rounds, {name: partial(send, port) for name, port in ports.items()})
