"""The number of workers that a traffic needs, from two scrapes of a running proxy's metrics. Pure.

The estimate is proportional: twice the traffic of the same kind takes twice the CPU. It is too high where a
proxy has little to do, because an idle process uses some CPU as well, and because requests that come one by
one cannot share a read. Memory is not estimated, because it does not follow from the traffic.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from tsproxy.offline.words import table

MB: Final = 1_000_000
TRAFFIC_MB_S: Final = (100, 1_000)
"""The traffic of the estimate if the user names none."""
LITTLE_BUSY: Final = 0.05
"""A process below this share of a core has so little to do that the estimate is too high."""

_CPU: Final = "process_cpu_seconds_total"
_STARTED: Final = "process_start_time_seconds"
_MEMORY: Final = "process_resident_memory_bytes"
_BYTES: Final = "tsproxy_bytes_total"
_RECORDS: Final = "tsproxy_records_total"
_CONNECTIONS: Final = "tsproxy_connections"
_WORKER: Final = "tsproxy_worker_ready"


class NoEstimateError(Exception):
    """No estimate follows from the two scrapes; the text says why."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One scrape: the values that the estimate needs."""

    at_ms: int
    started_s: float
    cpu_s: float
    from_clients: float
    from_brokers: float
    records: float
    connections: int
    workers: int
    memory_bytes: int


def read_metrics(text: str, at_ms: int) -> Reading:
    """The values of a scrape. Raises NoEstimateError if it is not of a proxy, or has no CPU time."""
    try:
        samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    except ValueError:
        samples = []

    def total(name: str, **labels: str) -> float:
        return sum(
            each.value for each in samples if each.name == name and labels.items() <= each.labels.items()
        )

    names = {each.name for each in samples}
    if _BYTES not in names:
        raise NoEstimateError("these are not the metrics of tsproxy: name its admin.bind")
    if _CPU not in names:
        raise NoEstimateError(f"the proxy does not know its CPU ({_CPU}): only Linux tells it")
    return Reading(
        at_ms=at_ms,
        started_s=total(_STARTED),
        cpu_s=total(_CPU),
        from_clients=total(_BYTES, direction="from_client"),
        from_brokers=total(_BYTES, direction="from_broker"),
        records=total(_RECORDS),
        connections=int(total(_CONNECTIONS)),
        workers=max(1, sum(each.name == _WORKER for each in samples)),
        memory_bytes=int(total(_MEMORY)),
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """The proxy's work between two scrapes. MB are millions of bytes, of both directions together."""

    seconds: float
    workers: int
    connections: int
    memory_mib: float
    from_clients_mb_s: float
    from_brokers_mb_s: float
    records_s: float
    cores: float
    """CPU seconds a second, of all workers together."""
    cpu_ms_a_mb: float

    @property
    def mb_s(self) -> float:
        return self.from_clients_mb_s + self.from_brokers_mb_s

    @property
    def has_little_to_do(self) -> bool:
        return self.cores < LITTLE_BUSY * self.workers


@dataclass(frozen=True, slots=True)
class Need:
    """The cores that a traffic takes, and the workers if each may be busy to a given share."""

    mb_s: float
    cores: float
    workers: int


def measured(first: Reading, last: Reading) -> Measured:
    """The proxy's work. Raises NoEstimateError if the proxy was started again in between, or had no
    traffic."""
    if first.started_s != last.started_s:
        raise NoEstimateError("the proxy was started again between the two scrapes: measure again")
    seconds = (last.at_ms - first.at_ms) / 1_000
    from_clients = last.from_clients - first.from_clients
    from_brokers = last.from_brokers - first.from_brokers
    both_mb = (from_clients + from_brokers) / MB
    cpu_s = last.cpu_s - first.cpu_s
    if both_mb <= 0:
        raise NoEstimateError(f"no traffic in {seconds:.0f} s: measure a proxy that clients use")
    return Measured(
        seconds=seconds,
        workers=last.workers,
        connections=last.connections,
        memory_mib=last.memory_bytes / (1 << 20),
        from_clients_mb_s=from_clients / MB / seconds,
        from_brokers_mb_s=from_brokers / MB / seconds,
        records_s=(last.records - first.records) / seconds,
        cores=cpu_s / seconds,
        cpu_ms_a_mb=1_000 * cpu_s / both_mb,
    )


def need(found: Measured, mb_s: float, busy: float) -> Need:
    """The need of `mb_s` of the same kind of traffic, if a worker may use the share `busy` of a core."""
    cores = found.cpu_ms_a_mb / 1_000 * mb_s
    return Need(mb_s, cores, max(1, math.ceil(cores / busy)))


def as_json(found: Measured, needs: Sequence[Need], busy: float) -> Mapping[str, Any]:
    return {
        "measured": asdict(found) | {"mb_s": found.mb_s, "has_little_to_do": found.has_little_to_do},
        "busy": busy,
        "needs": [asdict(each) for each in needs],
    }


def as_text(found: Measured, needs: Sequence[Need], busy: float) -> str:
    return "\n".join(_lines(found, needs, busy))


def _lines(found: Measured, needs: Sequence[Need], busy: float) -> Iterator[str]:
    yield f"Measured over {found.seconds:.0f} s:"
    yield from table(
        [
            ("from clients", f"{found.from_clients_mb_s:,.2f} MB/s"),
            ("from brokers", f"{found.from_brokers_mb_s:,.2f} MB/s"),
            ("records produced", f"{found.records_s:,.0f} a second"),
            ("connections", f"{found.connections:,}"),
            ("workers", f"{found.workers}"),
            ("memory", f"{found.memory_mib:,.0f} MiB"),
            ("CPU", f"{found.cores:.3f} cores, {found.cpu_ms_a_mb:.3f} ms a MB"),
        ]
    )
    yield ""
    yield f"The same kind of traffic, with workers that are busy {busy:.0%} of the time:"
    head = ("both directions together", "cores", "workers")
    rows = ((f"{each.mb_s:,.0f} MB/s", f"{each.cores:,.2f}", f"{each.workers:,}") for each in needs)
    yield from table([head, *rows], numbers=(0, 1, 2))
    if found.has_little_to_do:
        yield ""
        yield (
            f"A worker was busy for {found.cores / found.workers:.1%} of the time. With so little to do it\n"
            "needs more CPU a MB than under load, so the estimate is too high."
        )
