"""CPU for the consumers' way: large answers from the broker, small requests to it.

Rows with `sink` have the C programs on both sides, so the proxy is the bottleneck or nearly so. Rows with
`broker` have real consumers and a real broker, which need more CPU than the proxy.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench, Running, direct
from benchmarks.broker import broker, in_front_of
from benchmarks.frames import Shape
from benchmarks.loads import Load
from benchmarks.processes import Program, ProgramError
from benchmarks.proxies import HAPROXY, TSPROXY, Proxy
from benchmarks.relay import Comparison, compare
from benchmarks.rounds import in_rounds, ratio, spread
from benchmarks.sections import Section
from benchmarks.tools import MissingError
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

CONSUMERS: Final = 8

_ANSWER_BYTES: Final = (16_000, 1_000_000)
_PROXIES: Final = (HAPROXY, TSPROXY)
_NO_PROXY: Final = "no proxy"
_TOPIC: Final = "read"
_RECORDS_A_SECOND: Final = 20_000
"""An estimate for one partition, so that a run lasts about as long as other rounds."""

_PROGRAM: Final = Path(__file__).with_name("consumers.py")


@dataclass(frozen=True, slots=True)
class Run:
    """The seconds that real clients needed for their records, and the proxy's CPU."""

    seconds: float
    cpu_s: float

    @property
    def busy(self) -> float:
        return self.cpu_s / self.seconds


def run(target: Running, clients: Program, line: str) -> Run:
    """Tells clients that have connected through `target` to begin, and waits until they are done. They print
    the seconds. So a start, a connection and its first requests are not in the CPU."""
    before_s = target.program.settled_cpu_s() if target.program else 0.0
    clients.say(line)
    seconds = float(clients.hear())
    after_s = target.program.settled_cpu_s() if target.program else 0.0
    return Run(seconds, after_s - before_s)


def compared(runs: Mapping[str, Sequence[Run]]) -> Comparison:
    """Compares the runs of all rounds. All have the same records, so CPU stands for CPU per MB."""
    base, *others = runs
    costs = {name: [each.cpu_s for each in results] for name, results in runs.items()}
    speeds = {name: [1 / each.seconds for each in results] for name, results in runs.items()}
    return Comparison(
        {name: ratio(costs[name], costs[base]) for name in others if name != _NO_PROXY},
        {name: spread([each.busy for each in results]).median for name, results in runs.items()},
        {name: ratio(speeds[name], speeds[base]) for name in others},
    )


def consume(bench: Bench) -> Section:
    """CPU per MB, with a stand-in for the broker and with a real one."""
    proxies = [proxy for proxy in bench.proxies if proxy in _PROXIES]
    lines: list[tuple[str, Comparison]] = []
    for is_tls in (False, True):
        for size in _ANSWER_BYTES:
            load = Load(Shape(size, is_fetch=True), CONSUMERS, 1, is_tls=is_tls)
            lines.append((_name(load.shape, "sink", is_tls), compare(bench, load, proxies)))
    try:
        lines += _with_a_broker(bench, proxies)
    except MissingError as error:
        bench.missing[str(error)] = None
    except ProgramError as error:
        bench.failed[f"consumers and a broker: {error}"] = None
    shown = [proxy.name for proxy in proxies if proxy is not HAPROXY]
    rows = []
    for name, compared in lines:
        busy = (
            f"{100 * compared.busy[each]:.0f}%" if each in compared.busy else "–"
            for each in (HAPROXY.name, TSPROXY.name)
        )
        speeds = (str(compared.speeds.get(each, "–")) for each in (TSPROXY.name, _NO_PROXY))
        ratios = (str(compared.ratios.get(each, "–")) for each in shown)
        rows.append((name, *ratios, *busy, *speeds))
    return Section(
        text=f"CPU of the proxy per MB that {CONSUMERS} consumers read, as a ratio to {HAPROXY.name}'s in "
        "the same round. The size is that of an answer to Fetch. Each consumer has one connection and one "
        "request in flight. In rows with `sink`, the benchmarks' own C programs ask and answer. In rows with "
        "`broker`, librdkafka's consumers read a topic of records of 1 KB from one Apache Kafka "
        f"{DEFAULT_VERSION} broker, each of them a partition from its beginning to its end. Broker and "
        "consumers need more CPU than a proxy and hold it back, as the shares of busy time show. A broker's "
        "answer comes in pieces of about 14 KB, and each costs calls into Python. The last "
        f"columns have the speed of the consumers, as a ratio to that through {HAPROXY.name}. TLS is between "
        "consumers and proxy.",
        head=(
            "load",
            *shown,
            f"{HAPROXY.name} busy",
            f"{TSPROXY.name} busy",
            f"speed, {TSPROXY.name}",
            f"speed, {_NO_PROXY}",
        ),
        rows=rows,
    )


def _name(shape: Shape, answering: str, is_tls: bool) -> str:
    return f"{shape.name}, {answering}{', TLS' if is_tls else ''}"


def _with_a_broker(bench: Bench, proxies: Sequence[Proxy]) -> list[tuple[str, Comparison]]:
    """The rows of real consumers. The topic is filled once, without a proxy."""
    records = bench.effort.requests or int(_RECORDS_A_SECOND * bench.effort.seconds)
    lines = []
    with broker(bench, [HAPROXY.name]) as kafka:
        kafka.create_topic(_TOPIC, CONSUMERS)
        with _consumers(bench, direct(kafka.port), records, _ANSWER_BYTES[0], fills=True) as filler:
            run(direct(kafka.port), filler, "go")
        for is_tls in (False, True):
            with ExitStack() as stack:
                try:
                    targets = {
                        proxy.name: stack.enter_context(in_front_of(bench, kafka, proxy, is_tls=is_tls))
                        for proxy in proxies
                    }
                except MissingError as error:
                    bench.missing[str(error)] = None
                    continue
                if not is_tls:
                    targets[_NO_PROXY] = direct(kafka.port)
                lines += [
                    (
                        _name(Shape(size, is_fetch=True), "broker", is_tls),
                        compared(_read(bench, targets, records, size)),
                    )
                    for size in _ANSWER_BYTES
                ]
    return lines


def _read(
    bench: Bench, targets: Mapping[str, Running], records: int, size: int
) -> Mapping[str, Sequence[Run]]:
    """Reads every partition in each round. The consumers stay, so that they start and connect once."""
    with ExitStack() as stack:
        rounds = {
            name: partial(run, target, stack.enter_context(_consumers(bench, target, records, size)), "go")
            for name, target in targets.items()
        }
        return in_rounds(bench.effort.rounds, rounds)


def _consumers(
    bench: Bench, target: Running, records: int, size: int, *, fills: bool = False
) -> AbstractContextManager[Program]:
    words = [
        *("--bootstrap", f"127.0.0.1:{target.port}", "--topic", _TOPIC, "--partitions", str(CONSUMERS)),
        *("--records", str(records), "--fetch-bytes", str(size)),
        *(("--ca", target.ca) if target.ca else ()),
        *(("--fill",) if fills else ()),
    ]
    return bench.helper("consumers", (sys.executable, _PROGRAM, *words))
