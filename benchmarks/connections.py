"""Very many connections: their memory, and what happens when all come back at once.

The proxy has one CPU, whatever its workers: they are many because a process may open so many files only.
"""

import asyncio
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Final

from benchmarks.bench import Bench, Running, load_cpu
from benchmarks.loads import KB1, Load
from benchmarks.processes import Program, open_files
from benchmarks.proxies import BROKERS, Proxy, tsproxy
from benchmarks.sections import Section
from benchmarks.tools import MissingError, load_programs, require_tls
from tsproxy.testing.jars import JarsError
from tsproxy.testing.java import JavaError
from tsproxy.testing.kafka_cluster import KafkaCluster

_SINKS: Final = BROKERS - 1
"""Brokers have the node ids 1 and up, and the proxy has a port for each id from 0, after its first port."""
_A_HERD: Final = 0.8
"""The share of a process's open files that a herd's connections may take."""
_UNEVEN: Final = 1.3
"""The kernel divides connections among workers by hash. One of them has more than its share."""
_GOOD: Final = Load(KB1, connections=1, in_flight=5, warm_up_requests=10)
_GOOD_RATE: Final = 20
_FOR_EVER_S: Final = 3_600.0
_QUIET: Final = 3
"""The good client is measured alone for so many times the seconds of a load."""
_USER, _PASSWORD = "bench", "bench-password"
_LOGIN: Final = ("--user", _USER, "--password", _PASSWORD)


@dataclass(frozen=True, slots=True)
class _Scene:
    """Idle connections of one kind. With a login the broker is a real one."""

    name: str
    thousands: int
    logs_in: bool = False


_SCENES: Final = (
    _Scene("idle", 50),
    _Scene("idle, TLS + SCRAM, a real broker", 5, logs_in=True),
)
_BUSY_THOUSANDS: Final = 2


def connections(bench: Bench) -> Section:
    """Idle connections, then busy ones."""
    rows = []
    for scene in _SCENES:
        count = scene.thousands * bench.effort.idle_connections
        try:
            if scene.logs_in:
                require_tls()
                rows.append(asyncio.run(_before_a_broker(bench, scene, count)))
            else:
                with bench.sink("--brokers", str(_SINKS)) as sink:
                    rows.append(_idle(bench, scene, count, sink))
        except (MissingError, JavaError, JarsError) as error:
            bench.missing[str(error)] = None
    rows.append(_busy(bench, _BUSY_THOUSANDS * bench.effort.idle_connections))
    return Section(
        text="Memory is the growth of all workers' resident memory. Then the proxy is started again, and all "
        "clients connect at the same moment, from 100 addresses: `back` is the time until the last one is "
        "connected, logged in and answered, and `CPU a connection` the proxy's CPU for that. A failed "
        "connection comes back after 50 ms or more, as Kafka's clients do. The good client sends a request "
        f"of 1 KB {_GOOD_RATE} times a second meanwhile; its p99 counts from the time at which a request "
        "was due. The proxy has one CPU for all its workers, and clients and brokers share another one. A "
        f"process of this machine may open {open_files():,} files, and a connection takes two: therefore "
        f"the workers. The sink is a cluster of {_SINKS}. SCRAM is SCRAM-SHA-256 to a real broker; its "
        "clients derive their key once. Busy connections send a request of 1 KB as soon as they have the "
        "answer to the one before.",
        head=(
            "connections",
            "workers",
            "memory a connection",
            "back",
            "a second",
            "CPU a connection",
            "failed",
            "good client: p99 before",
            "p99 meanwhile",
            "longest",
        ),
        rows=rows,
    )


async def _before_a_broker(bench: Bench, scene: _Scene, count: int) -> tuple[str, ...]:
    async with KafkaCluster(security="SASL_PLAINTEXT", users={_USER: _PASSWORD}, heap="1g") as cluster:
        for topic in _GOOD.shape.topic_names:
            await cluster.create_topic(topic)
        broker = cluster.node(cluster.node_ids[0])
        _run_on_the_cpu_of_the_load(broker.pid)
        return await asyncio.to_thread(_idle, bench, scene, count, broker.port)


def _run_on_the_cpu_of_the_load(pid: int) -> None:
    """All threads of the process, and all that they start."""
    cpu = load_cpu()
    if cpu is not None:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {cpu})


def _idle(bench: Bench, scene: _Scene, count: int, upstream_port: int) -> tuple[str, ...]:
    workers = _workers(count)
    proxy = _proxy(count, workers, logs_in=scene.logs_in)
    login = _LOGIN if scene.logs_in else ()

    def started(port: int | None = None) -> AbstractContextManager[Running]:
        return bench.proxy(proxy, upstream_port, is_tls=scene.logs_in, port=port)

    with ExitStack() as at_the_end:
        with started() as running:
            assert running.program is not None
            alone = running.program.rss_bytes()
            herds = [at_the_end.enter_context(herd) for herd in _herds(bench, count, running, login)]
            _bring_back(herds)
            grown = running.program.rss_bytes() - alone
            with _good_client(bench, running, login) as good:
                before = _while_good(good, lambda: time.sleep(_QUIET * bench.effort.seconds))
        with started(running.port) as running, _good_client(bench, running, login) as good:
            assert running.program is not None
            cpu_s = running.program.settled_cpu_s()
            back: list[_Back] = []
            meanwhile = _while_good(good, lambda: back.extend(_bring_back(herds)))
            cpu_s = running.program.settled_cpu_s() - cpu_s
    back_s = max(each.seconds for each in back)
    return (
        f"{count:,} {scene.name}",
        str(workers),
        f"{grown / count / 1024:.1f} KiB",
        f"{back_s:.1f} s",
        f"{count / back_s:,.0f}",
        f"{1e6 * cpu_s / count:.0f} µs",
        f"{sum(each.failures for each in back):,}",
        f"{before.p99_ms:.1f} ms",
        f"{meanwhile.p99_ms:.0f} ms",
        f"{meanwhile.longest_ms:.0f} ms",
    )


def _busy(bench: Bench, count: int) -> tuple[str, ...]:
    load = Load(KB1, connections=count, in_flight=1, warm_up_requests=1)
    with (
        bench.sink("--brokers", str(_SINKS)) as sink,
        bench.proxy(_proxy(count, 1, logs_in=False), sink) as running,
        _good_client(bench, running) as good,
    ):
        assert running.program is not None
        alone = running.program.rss_bytes()
        before = _while_good(good, lambda: time.sleep(_QUIET * bench.effort.seconds))
        with bench.generator(load, running) as busy, _good_client(bench, running) as good:

            def run() -> None:
                busy.say("go")
                busy.hear()

            meanwhile = _while_good(good, run)
            grown = running.program.peak_rss_bytes() - alone
    return (
        f"{count:,} busy",
        "1",
        f"{grown / count / 1024:.1f} KiB",
        *("–",) * 4,
        f"{before.p99_ms:.1f} ms",
        f"{meanwhile.p99_ms:.0f} ms",
        f"{meanwhile.longest_ms:.0f} ms",
    )


@dataclass(frozen=True, slots=True)
class _Good:
    """The waits of the good client."""

    p99_ms: float
    longest_ms: float


@dataclass(frozen=True, slots=True)
class _Back:
    """A herd is connected again."""

    seconds: float
    failures: int


def _good_client(
    bench: Bench, running: Running, login: tuple[str, ...] = ()
) -> AbstractContextManager[Program]:
    return bench.generator(_GOOD, running, rate=_GOOD_RATE, seconds=_FOR_EVER_S, login=login)


def _while_good(good: Program, run: Callable[[], object]) -> _Good:
    """The waits of the good client while `run` runs. A client is used once."""
    good.say("go")
    run()
    good.say("stop")
    seen = json.loads(good.hear())
    return _Good(seen["p99_us"] / 1e3, seen["max_us"] / 1e3)


def _herds(
    bench: Bench, count: int, running: Running, login: tuple[str, ...]
) -> Iterator[AbstractContextManager[Program]]:
    """As many programs as need to be for `count` connections, to the proxy's ports of the brokers. None has
    connected yet."""
    herds = math.ceil(count / (_A_HERD * open_files()))
    tls = ("--ca", running.ca) if running.ca else ()
    for number in range(herds):
        share = count // herds + (number < count % herds)
        numbers = {"port": running.port + 2, "ports": 1 if login else _SINKS, "connections": share}
        words = (word for name, value in numbers.items() for word in (f"--{name}", str(value)))
        yield bench.helper("herd", (load_programs().herd, *words, *tls, *login))


def _bring_back(herds: Sequence[Program]) -> list[_Back]:
    for herd in herds:
        herd.say("go")
    return [_Back(**json.loads(herd.hear())) for herd in herds]


def _workers(count: int) -> int:
    """So many that none runs out of open files."""
    return math.ceil(2 * count * _UNEVEN / open_files())


def _proxy(count: int, workers: int, *, logs_in: bool) -> Proxy:
    most = math.ceil(count * _UNEVEN) + 100
    settings = {"limits.connections": str(most), "limits.connections_per_address": str(most)}
    if logs_in:
        admin = {"mechanism": "SCRAM-SHA-256", "username": _USER, "password": _PASSWORD}
        settings |= {f"upstream.admin.sasl.{name}": value for name, value in admin.items()}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return Proxy("tsproxy, many", tsproxy("--loop", "uvloop", "--workers", str(workers), *words))
