"""The state of one process for the admin port, and of several processes as one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Final

from tsproxy.decisions.old_requests import USES, Client
from tsproxy.proxy.metrics.catalogue import CLIENTS_REFUSED_BY_KAFKA_4
from tsproxy.proxy.metrics.offenders import SHOWN, Offender, highest
from tsproxy.proxy.metrics.results import RecentResult, joined
from tsproxy.proxy.metrics.totals import Families, as_lines, counts, families_of
from tsproxy.proxy.metrics.totals import joined as joined_families


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker as one listener serves it. `served_at` is None if the listener does not serve the broker; then
    no client gets its address. `gone_since` is the time since which the cluster has not named the broker."""

    listener: str
    node_id: int
    upstream: str
    served_at: str | None
    gone_since: str | None = None
    port_is_free_after: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The state of one process, or of all processes together.

    `not_ready`: the reasons why no client should connect here now. `warnings`: problems that exist while
    clients are served. `lately`: how clients' connections of the last minutes fared. `refused_by_kafka_4`:
    the fields of `client` lines, of at most SHOWN of `clients_refused_by_kafka_4`.
    """

    not_ready: tuple[str, ...]
    families: Families
    now_ms: int = 0
    cluster_id: str | None = None
    brokers: tuple[Broker, ...] = ()
    offenders: tuple[Offender, ...] = ()
    refused_by_kafka_4: tuple[Mapping[str, Any], ...] = ()
    clients_refused_by_kafka_4: frozenset[Client] = frozenset()
    warnings: tuple[str, ...] = ()
    lately: tuple[RecentResult, ...] = ()

    def as_line(self) -> dict[str, Any]:
        return {
            "not_ready": self.not_ready,
            "families": as_lines(self.families),
            "now_ms": self.now_ms,
            "cluster_id": self.cluster_id,
            "brokers": [asdict(broker) for broker in self.brokers],
            "offenders": [offender.as_line() for offender in self.offenders],
            "refused_by_kafka_4": self.refused_by_kafka_4,
            "clients_refused_by_kafka_4": list(self.clients_refused_by_kafka_4),
            "warnings": self.warnings,
            "lately": [asdict(result) for result in self.lately],
        }

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> "Report":
        parsed = {
            "not_ready": tuple(line["not_ready"]),
            "families": families_of(line["families"]),
            "brokers": tuple(Broker(**fields) for fields in line["brokers"]),
            "offenders": tuple(map(Offender.of_line, line["offenders"])),
            "refused_by_kafka_4": tuple(line["refused_by_kafka_4"]),
            "clients_refused_by_kafka_4": frozenset(map(tuple, line["clients_refused_by_kafka_4"])),
            "warnings": tuple(line["warnings"]),
            "lately": tuple(RecentResult(**fields) for fields in line["lately"]),
        }
        return cls(**{**line, **parsed})

    def remains(self) -> "Report":
        """The parts that remain after the process has ended: its counts and the clients."""
        return Report(
            (),
            counts(self.families),
            self.now_ms,
            offenders=self.offenders,
            refused_by_kafka_4=self.refused_by_kafka_4,
            clients_refused_by_kafka_4=self.clients_refused_by_kafka_4,
        )


NOTHING: Final = Report((), {})


def together(reports: Sequence[Report]) -> Report:
    """The sum of the reports, as if they came from one process."""
    now_ms = max((report.now_ms for report in reports), default=0)
    refused = frozenset().union(*(report.clients_refused_by_kafka_4 for report in reports))
    refused = frozenset(islice(refused, USES.most))  # workers may end again and again
    return Report(
        not_ready=tuple(text for report in reports for text in report.not_ready),
        families=_families(reports, len(refused)),
        now_ms=now_ms,
        cluster_id=next((report.cluster_id for report in reports if report.cluster_id), None),
        brokers=_brokers(broker for report in reports for broker in report.brokers),
        offenders=tuple(highest((row for report in reports for row in report.offenders), now_ms, SHOWN)),
        refused_by_kafka_4=_clients(row for report in reports for row in report.refused_by_kafka_4),
        clients_refused_by_kafka_4=refused,
        warnings=tuple(text for report in reports for text in report.warnings),
        lately=tuple(joined(report.lately for report in reports)),
    )


def _families(reports: Iterable[Report], refused: int) -> Families:
    families = dict(joined_families(report.families for report in reports))
    if gauge := families.get(CLIENTS_REFUSED_BY_KAFKA_4.name):
        families[gauge.name] = replace(gauge, samples=dict.fromkeys(gauge.samples, refused))
    return families


def _brokers(brokers: Iterable[Broker]) -> tuple[Broker, ...]:
    """The brokers of all processes. A broker that one process does not serve counts as not served, since the
    kernel may choose that process for a connection."""
    known: dict[tuple[str, int], Broker] = {}
    for broker in brokers:
        key = (broker.listener, broker.node_id)
        if key not in known or broker.served_at is None:
            known[key] = broker
    return tuple(known[key] for key in sorted(known))


def _clients(rows: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """One row for each client id, principal and API, of at most SHOWN clients."""
    known: dict[tuple[Any, Any, str], Mapping[str, Any]] = {}
    for row in rows:
        key = row.get("client_id"), row.get("principal"), row["api"]
        one = known.get(key, row)
        lowest, highest = (
            min(one["version_min"], row["version_min"]),
            max(one["version_max"], row["version_max"]),
        )
        known[key] = {**one, **row, "version_min": lowest, "version_max": highest}
    shown = {*islice(dict.fromkeys(key[:2] for key in known), SHOWN)}
    return tuple(row for key, row in known.items() if key[:2] in shown)
