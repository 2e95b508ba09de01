"""CPU for real clients, as they come: librdkafka, Kafka's own for Java, and franz-go, with a real broker.

A program for each of them takes the same words: its role, the broker, the topic, the codec, a file of values
of 1 KB, and how often it first sends one record and waits. Then it prints `ready`. For each number on its
standard input it sends or reads so many records, and prints the seconds until all are acknowledged or read.
"""

import random
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.adaptive import ADAPTIVE
from benchmarks.bench import Bench, Running, direct
from benchmarks.broker import Broker, broker, in_front_of
from benchmarks.consume import Run, compared, run
from benchmarks.frames import json_values
from benchmarks.processes import Command, Program, ProgramError
from benchmarks.proxies import AGAIN, HAPROXY, TSPROXY, Proxy
from benchmarks.rounds import in_rounds, spread
from benchmarks.sections import Section
from benchmarks.tools import MissingError, find
from tests.clients.foreign import go_program
from tsproxy.fastpath.adaptive import TRUSTED_AFTER
from tsproxy.testing.jars import JarsError
from tsproxy.testing.java import source_command
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

_TCP: Final = (HAPROXY, AGAIN)
_BY_DEFAULT: Final = Proxy(TSPROXY.name, ADAPTIVE.command)
_PARTITIONS: Final = 4
_WARM_UP: Final = 2 * TRUSTED_AFTER
_RECORDS_PER_MB: Final = 1_000
_FIRST_RECORDS: Final = 20_000
"""The records of a first run, which shows how many a round needs."""
_ROUND_FACTOR: Final = 1.5
"""A proxy is idle most of the time here, so a round is longer than others."""
_SHORT: Final = 5
_SHORT_RECORDS: Final = 15_000
"""A round of a short producer: so many of them one after the other, each with so many records."""
_READS_A_SECOND: Final = 300_000
"""An estimate."""
_IDLE_FACTOR: Final = 5

_PROGRAMS: Final = Path(__file__).with_name("load")
_JSON: Final = b"".join(islice(json_values(1_000, random.Random(0)), 1_000))


@dataclass(frozen=True, slots=True)
class Work:
    """A row: a client, and the records that it sends. Without a `codec` it reads."""

    client: str
    does: str
    codec: str | None
    is_short: bool = False
    """The client connects for each 15 MB. Its start and its first requests count."""

    @property
    def name(self) -> str:
        return f"{self.client}, {self.does}"

    @property
    def topic(self) -> str:
        return self.name.replace(",", "").replace(" ", "-")


def _librdkafka(_jars: Path) -> Command:
    return (sys.executable, _PROGRAMS / "librdkafka.py")


def _java(jars: Path) -> Command:
    try:
        return source_command([jars / "*"], "512m", _PROGRAMS / "KafkaClient.java")
    except JarsError as error:
        raise MissingError(str(error)) from error


def _franz(_jars: Path) -> Command:
    find("go")
    try:
        command: Command = go_program("load")
    except RuntimeError as error:
        raise MissingError(f"franz-go could not be built: {error}") from error
    return command


_CLIENTS: Final = {"librdkafka": _librdkafka, "Java": _java, "franz-go": _franz}
_FILLER: Final = Work("librdkafka", "filling", "none")

WORK: Final = (
    *(Work(each, "plain", "none") for each in _CLIENTS),
    *(Work(each, "lz4", "lz4") for each in _CLIENTS),
    Work("librdkafka", "zstd", "zstd"),
    Work("Java", "reading", None),  # `consume` has librdkafka's
    *(Work("librdkafka", f"{codec}, short", codec, is_short=True) for codec in ("none", "lz4")),
)


_Measured = tuple[int, Mapping[str, Sequence[Run]]]
"""The records of a run, and the runs by the names of proxies."""


def clients(bench: Bench) -> Section:
    """CPU per MB of records, for each client and codec."""
    find("haproxy")  # without it there is no section at all
    measured: dict[Work, _Measured] = {}
    with broker(bench, [proxy.name for proxy in _TCP]) as kafka, ExitStack() as stack:
        for work in WORK:  # before the proxy starts: a new topic ends the trust in compressed batches
            kafka.create_topic(work.topic, _PARTITIONS, is_kept=work.codec is None)
        targets = {
            proxy.name: stack.enter_context(in_front_of(bench, kafka, proxy))
            for proxy in (*_TCP, _BY_DEFAULT)
        }
        idle_ms = {name: _idle_ms_per_s(bench, target) for name, target in targets.items()}
        for work in WORK:
            try:
                measured[work] = _measured(bench, kafka, work, targets)
            except MissingError as error:
                bench.missing[f"{work.client}: {error}"] = None
            except ProgramError as error:
                bench.failed[f"{work.name}: {error}"] = None
    rows = []
    for work, (records, runs) in measured.items():
        found = compared(runs)
        ms_per_mb = (1_000 * each.cpu_s * _RECORDS_PER_MB / records for each in runs[HAPROXY.name])
        rows.append(
            (
                work.name,
                *(str(found.ratios[each]) for each in (AGAIN.name, TSPROXY.name)),
                str(spread(list(ms_per_mb))),
                *(f"{100 * found.busy[each]:.1f}%" for each in (HAPROXY.name, TSPROXY.name)),
                str(found.speeds[TSPROXY.name]),
            )
        )
    return Section(
        text=_text(idle_ms),
        head=(
            *("client", AGAIN.name, TSPROXY.name, f"{HAPROXY.name}, ms a MB"),
            *(f"{HAPROXY.name} busy", f"{TSPROXY.name} busy", "throughput"),
        ),
        rows=rows,
    )


def _text(idle_ms: Mapping[str, float]) -> str:
    theirs, ours = (f"{idle_ms[each]:.2f} ms" for each in (HAPROXY.name, TSPROXY.name))
    return (
        f"CPU of the proxy per MB of records before compression, as a ratio to {HAPROXY.name}'s in the same "
        f"round, with one client and one Apache Kafka {DEFAULT_VERSION} broker. Each client has its own "
        "defaults, but for the codec: librdkafka and franz-go gather up to 1 MB in a batch, Java 16 KB. A "
        "request is forwarded when its end has arrived; then the beginning of a large one is no longer in "
        "the nearest cache. "
        "Records have 1 KB: texts like JSON documents. "
        f"{TSPROXY.name} has its defaults, too, so compressed batches mostly stay unread. Before it is "
        f"measured, a producer has sent {_WARM_UP} batches, and a consumer has read a record. So the CPU is "
        "that from the first record to the last acknowledgement, without start, connection and metadata. "
        f"Only `short` counts all of that: {_SHORT} producers of 15 MB each, one after the other. "
        "Broker and client share a CPU and hold the proxy back, as the shares of busy time show. The last "
        f"column has the client's throughput, as a ratio to that through {HAPROXY.name}. Without a client, "
        f"{HAPROXY.name} needs {theirs} of CPU a second, and {TSPROXY.name} with its timers {ours}. That is "
        "part of the figures."
    )


def _idle_ms_per_s(bench: Bench, target: Running) -> float:
    assert target.program is not None
    before_s, begun = target.program.settled_cpu_s(), time.monotonic()
    time.sleep(_IDLE_FACTOR * bench.effort.seconds)
    return 1_000 * (target.program.cpu_s() - before_s) / (time.monotonic() - begun)


def _measured(bench: Bench, kafka: Broker, work: Work, targets: Mapping[str, Running]) -> _Measured:
    """The programs stay, so that each starts and connects once, but for short producers."""
    if work.is_short:
        rounds = {name: partial(_short_round, bench, kafka, work, to) for name, to in targets.items()}
        return _SHORT * _SHORT_RECORDS, in_rounds(bench.effort.rounds, rounds)
    if work.codec is None:
        records = bench.effort.requests or int(_READS_A_SECOND * _ROUND_FACTOR * bench.effort.seconds)
        through = direct(kafka.port)
        with _program(bench, kafka, _FILLER, work.topic, through) as filler:
            run(through, filler, str(records))
    with ExitStack() as stack:
        programs = {
            name: stack.enter_context(_program(bench, kafka, work, work.topic, target))
            for name, target in targets.items()
        }
        if work.codec is not None:
            records = bench.effort.requests or _records(bench, targets, programs)
        runs = in_rounds(
            bench.effort.rounds,
            {name: partial(run, target, programs[name], str(records)) for name, target in targets.items()},
        )
    return records, runs


def _short_round(bench: Bench, kafka: Broker, work: Work, target: Running) -> Run:
    assert target.program is not None
    before_s, seconds = target.program.settled_cpu_s(), 0.0
    for _ in range(_SHORT):
        with _program(bench, kafka, work, work.topic, target) as program:
            seconds += run(target, program, str(_SHORT_RECORDS)).seconds
    return Run(seconds, target.program.settled_cpu_s() - before_s)


def _records(bench: Bench, targets: Mapping[str, Running], programs: Mapping[str, Program]) -> int:
    """So many records that a round lasts as long as it should, after a first run of each program."""
    firsts = [run(target, programs[name], str(_FIRST_RECORDS)).seconds for name, target in targets.items()]
    return int(_FIRST_RECORDS / spread(firsts).median * _ROUND_FACTOR * bench.effort.seconds)


def _program(
    bench: Bench, kafka: Broker, work: Work, topic: str, target: Running
) -> AbstractContextManager[Program]:
    values = bench.workshop.folder / "values"
    values.write_bytes(_JSON)
    role, warm_up = (
        ("read", 1) if work.codec is None else ("send", 0 if work is _FILLER or work.is_short else _WARM_UP)
    )
    words = (role, f"127.0.0.1:{target.port}", topic, work.codec or "none", values, str(warm_up))
    return bench.helper(work.client, (*_CLIENTS[work.client](kafka.jars), *words))
