"""capacity.md: the parts that follow from benchmarks.md, with the arithmetic shown.

    python -m benchmarks.capacity_page

This command writes the parts. A run of the benchmarks that writes benchmarks.md writes them, too, and a
test compares both pages.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import connections, partitions
from benchmarks.capacity import TITLE
from benchmarks.memory import IDLE_TITLE, tls_name
from benchmarks.page import MissingFigureError, cell, number, table, wrapped
from benchmarks.proxies import TSPROXY
from benchmarks.storm import LOG, MANY_CLIENTS, STORM_TITLE
from tsproxy.proxy.limits.descriptors import A_CONNECTION

DOCS: Final = Path(__file__).parent.parent / "docs" / "evidence"
PAGE: Final = "capacity.md"

BUSY: Final = 0.6
"""The share of a core that a worker may use at the busiest time."""
CORES: Final = 16
LINK_GBIT: Final = 25
LINK_FULL: Final = 0.7
"""The machines of the examples: cores, network, and the share of the network that may be used."""
TRAFFIC_MB_S: Final = 1_000
READ_TIMES: Final = 2
"""How many times consumers read each byte in the examples."""
CONNECTIONS_A_MB_S: Final = 10
_KIB_A_MIB: Final = 1024

LARGE_GBIT: Final = 100
LARGE_CONNECTIONS: Final = 100_000
LARGE_BROKERS: Final = 12
"""The large installation: the network of a machine, clients' connections, and the cluster behind it."""
OUTGOING_PORTS: Final = 60_999 - 32_768 + 1
"""Linux's `ip_local_port_range`: the connections from one address to one port of a broker."""
SCRAPE_S: Final = 15
_DAY_S: Final = 86_400

_PRODUCED: Final = "100 KB lz4, 8×5, TLS"
_CONSUMED: Final = "Fetch, 1 MB, 8×1, TLS"


@dataclass(frozen=True, slots=True)
class Cost:
    """The CPU of one load, by the table: microseconds a request and milliseconds a MB."""

    us_a_request: float
    ms_a_mb: float

    @property
    def worker_mb_s(self) -> float:
        """The traffic of a worker that is as busy as it may be."""
        return BUSY * 1_000 / self.ms_a_mb


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of benchmarks.md. Memory is that of a process, and of one more idle TLS connection."""

    costs: Mapping[str, Cost]
    process_mib: float
    connection_kib: float
    log_mib: float
    """The decision log of one process in an interval, if every batch of 10,000 clients is rejected."""
    back_us: float | None = None
    scrape_kib: float | None = None
    """CPU of a connection that comes back (TLS, SCRAM), and the size of `/metrics`. None: not measured."""


def figures(benchmarks: str) -> Figures:
    """The figures of the page's text. Raises MissingFigureError."""
    costs = {
        name: Cost(number(row["CPU, µs a request"]), number(row["CPU, ms a MB"]))
        for name, row in table(benchmarks, TITLE).items()
    }
    process, connection = (
        cell(benchmarks, IDLE_TITLE, tls_name(TSPROXY), each) for each in ("before", "a connection")
    )
    return Figures(
        costs,
        process_mib=number(process),
        connection_kib=number(connection),
        log_mib=number(cell(benchmarks, STORM_TITLE, MANY_CLIENTS, LOG)),
        back_us=_measured(benchmarks, connections.TITLE, connections.STORM_ROW, connections.CPU),
        scrape_kib=_measured(benchmarks, partitions.TITLE, partitions.LARGEST, partitions.SCRAPE),
    )


def _measured(benchmarks: str, title: str, row: str, column: str) -> float | None:
    """A figure of a section that the page may not have yet."""
    if f"## {title}\n" not in benchmarks:
        return None
    return number(cell(benchmarks, title, row, column))


def page(text: str, found: Figures) -> str:
    """docs/evidence/capacity.md with its parts between marks made again."""
    for name, part in (
        ("workers", _workers(found)),
        ("examples", _examples(found)),
        ("large", _large(found)),
    ):
        begin, end = f"<!-- {name}: from benchmarks.md -->\n", f"<!-- end of {name} -->\n"
        before, between, after = text.partition(begin)
        rest = after.partition(end)
        if not between or not rest[1]:
            raise MissingFigureError(f"{PAGE} has no place for {name!r}")
        text = f"{before}{begin}{part}{end}{rest[2]}"
    return text


def _workers(found: Figures) -> str:
    head = ("load", "CPU, ms a MB", "a worker carries", _mb_s(TRAFFIC_MB_S))
    rows = [
        (
            name,
            f"{cost.ms_a_mb:.3g}",
            _mb_s(cost.worker_mb_s),
            f"{_workers_for(cost, TRAFFIC_MB_S):,}",
        )
        for name, cost in found.costs.items()
    ]
    lines = (head, tuple("---" for _ in head), *rows)
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def _workers_for(cost: Cost, mb_s: float) -> int:
    return math.ceil(mb_s / cost.worker_mb_s)


def _examples(found: Figures) -> str:
    missing = {_PRODUCED, _CONSUMED} - found.costs.keys()
    if missing:
        raise MissingFigureError(f"{TITLE}: no row {', '.join(sorted(missing))}")
    return "\n" + "\n".join(_example(found, TRAFFIC_MB_S)) + "\n"


def _example(found: Figures, mb_s: float) -> Iterator[str]:
    """One traffic, with every number that leads to its result."""
    produced, consumed = found.costs[_PRODUCED].ms_a_mb, found.costs[_CONSUMED].ms_a_mb
    read = READ_TIMES * mb_s
    cores = (mb_s * produced + read * consumed) / 1_000
    workers = math.ceil(cores / BUSY)
    by_cpu = math.ceil(workers / CORES)
    link_mb_s = LINK_GBIT * 1_000 / 8 * LINK_FULL
    by_network = math.ceil((mb_s + read) / link_mb_s)
    machines = max(by_cpu, by_network)
    connections = int(CONNECTIONS_A_MB_S * mb_s)
    memory_mib = workers * found.process_mib + connections * found.connection_kib / _KIB_A_MIB
    yield f"### {_mb_s(mb_s)}"
    yield ""
    steps = (
        f"Produce: {mb_s:,.0f} MB/s × {produced:.3g} ms = {mb_s * produced / 1_000:,.2f} cores.",
        f"Fetch: {READ_TIMES} × {mb_s:,.0f} MB/s × {consumed:.3g} ms = {read * consumed / 1_000:,.2f} cores.",
        f"Workers: {cores:,.2f} cores / {BUSY} = {workers:,}.",
        f"Machines by CPU: {workers:,} / {CORES} = {by_cpu:,}.",
        f"Machines by network: ({mb_s:,.0f} + {read:,.0f}) MB/s / {link_mb_s:,.0f} MB/s = {by_network:,}.",
        f"Memory: {workers:,} × {found.process_mib:.0f} MiB + {connections:,} connections × "
        f"{found.connection_kib:.3g} KiB = {memory_mib / _KIB_A_MIB:,.1f} GiB, and what clients have in "
        "flight.",
        f"**{_count(machines)}**, and one more, so that one may fail"
        + (f": the {'network' if by_network > by_cpu else 'CPU'} decides." if by_network != by_cpu else "."),
    )
    for step in steps:
        yield wrapped(step, begin="* ")
    yield ""


def _large(found: Figures) -> str:
    """One machine for 100 Gbit/s of clients and 100,000 connections."""
    return "\n" + "".join(wrapped(line, begin="* ") + "\n" for line in _large_lines(found)) + "\n"


def _large_lines(found: Figures) -> Iterator[str]:
    produced, consumed = found.costs[_PRODUCED].ms_a_mb, found.costs[_CONSUMED].ms_a_mb
    link_mb_s = LARGE_GBIT * 1_000 / 8 * LINK_FULL
    each = link_mb_s / (1 + READ_TIMES)
    cores = each * (produced + READ_TIMES * consumed) / 1_000
    workers = math.ceil(cores / BUSY)
    yield (
        f"**Traffic**: {LINK_FULL * 100:.0f} % of {LARGE_GBIT} Gbit/s are {link_mb_s:,.0f} MB/s in each "
        f"direction: {each:,.0f} MB/s that are produced, and {READ_TIMES} × as much that is read."
    )
    yield (
        f"**Processes**: {each:,.0f} × ({produced:.3g} + {READ_TIMES} × {consumed:.3g}) ms = {cores:,.1f} "
        f"cores, and / {BUSY} = {workers:,} workers. The network's interrupts come on top."
    )
    many, kib = LARGE_CONNECTIONS, found.connection_kib
    memory_gib = (workers * found.process_mib + many * kib / _KIB_A_MIB) / _KIB_A_MIB
    yield (
        f"**Memory**: {workers:,} × {found.process_mib:.0f} MiB + {many:,} × {kib:.3g} KiB = "
        f"{memory_gib:,.1f} GiB, and at most `limits.buffered`."
    )
    own = math.ceil(many / workers)
    yield (
        f"**File descriptors**: a worker has {own:,} connections, ± {math.sqrt(own):,.0f}, and each takes "
        f"{A_CONNECTION}: {A_CONNECTION * own:,} or some more (`LimitNOFILE`, `limits.connections`)."
    )
    yield (
        f"**Ports**: {OUTGOING_PORTS:,} from one address to each broker, so {many:,} connections need "
        f"{math.ceil(many / OUTGOING_PORTS):,} brokers, or a wider `net.ipv4.ip_local_port_range`."
    )
    yield (
        f"**Brokers' connections**: one for each of the clients', so {many / LARGE_BROKERS:,.0f} at each of "
        f"{LARGE_BROKERS} brokers, and the workers' own: {workers:,} × ({LARGE_BROKERS} + 1) = "
        f"{workers * (LARGE_BROKERS + 1):,} in all."
    )
    log_gib = found.log_mib * workers * _DAY_S / 60 / _KIB_A_MIB
    yield (
        f"**Decision log**: if every batch of 10,000 clients is rejected, a worker writes "
        f"{found.log_mib:.3g} MiB a minute: {log_gib:,.0f} GiB a day for all of them."
    )
    if found.scrape_kib is not None:
        metrics_mib = found.scrape_kib * _DAY_S / SCRAPE_S / _KIB_A_MIB
        yield (
            f"**Metrics**: a scrape is one page for all workers, {found.scrape_kib:.0f} KiB with 10,000 "
            f"topics: {metrics_mib:,.0f} MiB a day at one in {SCRAPE_S} s."
        )
    if found.back_us is not None:
        back_s = many * found.back_us / 1e6
        yield (
            f"**All come back** after a restart: {many:,} × {found.back_us / 1_000:.2g} ms (TLS, SCRAM) = "
            f"{back_s:,.0f} s of CPU, so {back_s / workers:,.0f} s with {workers:,} cores."
        )


def _count(machines: int) -> str:
    return f"{machines:,} machine{'' if machines == 1 else 's'}"


def _mb_s(mb_s: float) -> str:
    return f"{mb_s / 1_000:,.3g} GB/s" if mb_s >= 1_000 else f"{mb_s:,.3g} MB/s"


def write(docs: Path = DOCS) -> None:
    """Writes capacity.md in that folder again, if it is there. Raises MissingFigureError."""
    path = docs / PAGE
    if not path.exists():
        return
    found = figures((docs / "benchmarks.md").read_text(encoding="utf-8"))
    path.write_text(page(path.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    write()
