"""One run of the benchmarks. Every measurement gets one `Bench`.

    with bench.sink() as sink, bench.proxy(HAPROXY, sink.port) as proxy:
        result = bench.load(Load(KB1), proxy)

With two or more CPUs, the proxy has one of its own and the load has the others. Generator and sink together
cost about as much as a plain TCP proxy, each alone costs less. On two CPUs they share one CPU and limit a
fast proxy. So, beside the ratios, the page shows how busy each proxy was.
"""

import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.frames import Shape, write_frames
from benchmarks.loads import Load
from benchmarks.processes import Command, Program, ProgramError, Workshop
from benchmarks.proxies import BROKERS, FURTHER, PROXIES, Place, Proxy
from benchmarks.tools import MissingError, find, load_programs, require_tls
from tsproxy.testing.client_options import Identity
from tsproxy.testing.ports import free_ports

_PORTS: Final = 1 + BROKERS
_POLL_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Effort:
    """The size of a run: rounds, seconds of load in each, and the maximum of requests per connection."""

    rounds: int
    seconds: float
    requests: int | None = None
    idle_connections: int = 1_000


FULL: Final = Effort(rounds=5, seconds=0.6)
QUICK: Final = Effort(rounds=1, seconds=0.3, requests=50, idle_connections=50)


@dataclass(frozen=True, slots=True)
class Running:
    """A proxy that accepts connections at `port`; `program` is None if there is no proxy."""

    port: int
    folder: Path
    program: Program | None
    ca: Path | None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one load: answers, the proxy's CPU, and latencies from the time a request was due."""

    requests: int
    sent_bytes: int
    seconds: float
    unanswered: int
    cpu_s: float
    p50_us: float
    p99_us: float
    p999_us: float

    @property
    def cpu_per_request(self) -> float:
        return self.cpu_s / self.requests

    @property
    def busy(self) -> float:
        """The share of time in which the proxy was computing: 1 if the proxy was the bottleneck."""
        return self.cpu_s / self.seconds

    @property
    def requests_per_s(self) -> float:
        return self.requests / self.seconds


@dataclass(slots=True)
class Bench:
    """One run of the benchmarks. `proxies` are those that can be started on this machine. `missing` has a
    sentence for each measurement that this machine cannot do, `failed` one for each that failed."""

    workshop: Workshop
    effort: Effort
    proxies: Sequence[Proxy] = PROXIES
    loads_named: str = ""
    missing: dict[str, None] = field(default_factory=dict)
    failed: dict[str, None] = field(default_factory=dict)
    of_tsproxy: dict[Load, Sequence[Result]] = field(default_factory=dict)
    """The results of tsproxy under loads that were measured so far."""
    _frames: dict[Shape, Path] = field(default_factory=dict)
    _identity: tuple[Identity, Path] | None = None

    def chosen(self, loads: Sequence[Load]) -> Sequence[Load]:
        """The loads whose name contains the text of the command line; all loads without such a text."""
        return [load for load in loads if self.loads_named in load.name]

    def few_proxies(self) -> Sequence[Proxy]:
        """The proxies that all loads measure."""
        return [proxy for proxy in self.proxies if proxy not in FURTHER]

    def start_all(self) -> None:
        """Starts each proxy once and drops those that this machine does not have."""
        try:
            find("taskset")
        except MissingError as error:
            self.missing[f"Nothing has a CPU of its own. {error}"] = None
        with self.sink() as sink:
            able = []
            for proxy in self.proxies:
                try:
                    with self.proxy(proxy, sink):
                        able.append(proxy)
                except MissingError as error:
                    self.missing[str(error)] = None
            self.proxies = able

    @contextmanager
    def sink(self, *flags: str) -> Iterator[int]:
        """Starts a sink; yields its port."""
        with self.workshop.start("sink", (load_programs().sink, *flags), cpu=_cpu(2), talks=True) as program:
            yield int(program.hear().split()[1])

    @contextmanager
    def proxy(
        self,
        proxy: Proxy,
        sink_port: int,
        *,
        is_tls: bool = False,
        port: int | None = None,
        shares_cpus: bool = False,
    ) -> Iterator[Running]:
        """Starts `proxy` in front of the sink, and waits until it accepts connections, at `port` if that is
        given. It has a CPU of its own unless it shares all CPUs with others.

        Raises MissingError, ProgramError.
        """
        identity, ca = self._identity_and_ca() if is_tls else (None, None)
        folder = self.workshop.new_folder(proxy.name)
        place = Place(free_ports(_PORTS)[0] if port is None else port, sink_port, folder, identity)
        cpu = None if shares_cpus else _cpu(0)
        with self.workshop.start(proxy.name, proxy.command(place), cpu=cpu) as program:
            _wait_until_open(program, place.port, proxy.start_s)
            yield Running(place.port, folder, program, ca)

    def load(self, load: Load, target: Running, *, rate: float | None = None) -> Result:
        """Runs `load` through `target`: a closed loop, or an open one with `rate` requests a second."""
        with self.generator(load, target, rate=rate) as generator:
            before_s = target.program.settled_cpu_s() if target.program else 0.0
            generator.say("go")
            answer = json.loads(generator.hear())
            after_s = target.program.settled_cpu_s() if target.program else 0.0
        result = Result(
            requests=answer["requests"],
            sent_bytes=answer["bytes"],
            seconds=answer["seconds"],
            unanswered=answer["unanswered"],
            cpu_s=after_s - before_s,
            p50_us=answer["p50_us"],
            p99_us=answer["p99_us"],
            p999_us=answer["p999_us"],
        )
        if result.unanswered:
            raise ProgramError(f"{load.name}: {result.unanswered} requests were not answered")
        return result

    @contextmanager
    def generator(
        self,
        load: Load,
        target: Running,
        *,
        rate: float | None = None,
        seconds: float | None = None,
        patience_s: float = 10.0,
        warm_up: int | None = None,
        login: Sequence[str] = (),
    ) -> Iterator[Program]:
        """A generator that has printed `ready`: connected, warmed up, and waiting for `go`. Another line ends
        its load early. `login` are options for a login by SCRAM."""
        effort = self.effort
        options: dict[str, object] = {
            "port": target.port,
            "frames": self.frames(load.shape),
            "connections": load.connections,
            "in-flight": load.in_flight,
            "warm-up": load.warm_up if warm_up is None else warm_up,
            "seconds": effort.seconds if seconds is None else seconds,
            "requests": effort.requests,
            "rate": rate if rate is None else round(rate),
            "expect": load.expected_code or None,
            "patience": patience_s,
            "ca": target.ca,
        }
        words = [
            word
            for name, value in options.items()
            if value is not None
            for word in (f"--{name}", value if isinstance(value, Path) else str(value))
        ]
        with self.helper("generator", (load_programs().generator, *words, *login)) as program:
            yield program

    @contextmanager
    def helper(self, name: str, command: Command) -> Iterator[Program]:
        """A program that makes a load: it has printed `ready` and waits for `go`."""
        with self.workshop.start(name, command, cpu=_cpu(1), talks=True) as program:
            heard = program.hear()
            assert heard == "ready", heard
            yield program

    def frames(self, shape: Shape) -> Path:
        """The file of requests of that shape, made on first use."""
        if shape not in self._frames:
            path = self.workshop.folder / f"{len(self._frames)}-{shape.name.replace(' ', '')}.frames"
            write_frames(shape, path)
            self._frames[shape] = path
        return self._frames[shape]

    def _identity_and_ca(self) -> tuple[Identity, Path]:
        require_tls()
        if self._identity is None:
            from tsproxy.testing.certificates import CertificateAuthority  # needs `cryptography`

            authority = CertificateAuthority(self.workshop.new_folder("certificates"))
            self._identity = (authority.issue("proxy"), authority.certificate)
        return self._identity


def direct(sink_port: int) -> Running:
    """No proxy: clients connect to the sink."""
    return Running(sink_port, Path(), None, None)


def load_cpu() -> int | None:
    """The CPU of the sink, and of a real broker in its place."""
    return _cpu(2)


def _cpu(wish: int) -> int | None:
    """The CPU of the proxy (0), of the generator (1) and of the sink (2; with two CPUs, the generator's)."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        return None
    try:
        find("taskset")
    except MissingError:
        return None
    return cpus[min(wish, len(cpus) - 1)]


def _wait_until_open(program: Program, port: int, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while True:
        program.raise_if_ended()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > deadline:
            raise ProgramError(
                f"{program.name} does not listen after {patience_s:g} s: {program.last_words()}"
            )
        time.sleep(_POLL_S)
