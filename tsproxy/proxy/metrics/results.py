"""How clients' new connections fared, in total and in the last minutes, by listener and broker.

Every sentence about clients that are not served follows from these counts: the log line, the metric, the
warnings of `/readyz?verbose` and the first sentence of the live page. The proxy's own connection to the
cluster says nothing about clients: brokers may accept the proxy and close the connections of its clients.

A connection counts once, as soon as its result is certain. A connection that ends before that, such as a
health check of a load balancer, does not count.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.clock import Clock
from tsproxy.decisions.text import bounded
from tsproxy.log_events.catalogue import CLIENTS_FAIL
from tsproxy.model.outcome import Peer
from tsproxy.model.words import many
from tsproxy.proxy.metrics.catalogue import BROKER_CONNECTIONS, CLIENT_CONNECTIONS

BOOTSTRAP: Final = "bootstrap"
"""The broker of a connection to a listener's first port, where any bootstrap server may answer."""

NO_BROKER: Final = ""
"""The connection failed before a broker was chosen."""

LATELY_MS: Final = 120_000
_STEP_MS: Final = 10_000
LOG_AGAIN_MS: Final = 60_000
LOOK_AGAIN_MS: Final = 1_000
FEW: Final = 3
"""So many failed connections are reported, not fewer: one port scan must not raise a warning."""
MAX_CHARS: Final = 200


class Result(Enum):
    """How a connection fared: its label, the share of such connections from which it is reported, what
    happened, and what to do. A failed login or handshake is often one client's fault, so their share is
    higher."""

    SERVED = "served", 2.0, "", ""
    BROKER_UNREACHABLE = (
        "broker_unreachable",
        0.1,
        "cannot be reached",
        "check that it runs, and its name and port as seen from this machine",
    )
    BROKER_CLOSED_EARLY = (
        "broker_closed_early",
        0.1,
        "closes their connections before its first answer",
        "compare the broker's max.connections.per.ip (all clients have the proxy's address), "
        "max.connections and connection creation rates with the number of clients",
    )
    BROKER_SILENT = (
        "broker_silent",
        0.1,
        "does not answer",
        "check whether the broker hangs, and whether it limits the rate of new connections "
        "(max.connection.creation.rate; all clients have the proxy's address)",
    )
    LOGIN_FAILED = (
        "login_failed",
        0.5,
        "rejects their logins",
        "see sasl_failed in the log, which names the clients",
    )
    HANDSHAKE_FAILED = (
        "handshake_failed",
        0.5,
        "the TLS handshake or the PROXY header fails",
        "compare the listener's certificate with what clients trust; tls_handshake_failed in the log names "
        "the clients",
    )
    CERTIFICATE_REJECTED = (
        "certificate_rejected",
        0.5,
        "the proxy rejects their certificates",
        "compare client_ca, client_crl and principal_mapping of the listener with the clients' certificates; "
        "tls_handshake_failed or principal_not_mapped in the log names the clients",
    )
    LIMIT_REACHED = (
        "limit_reached",
        0.1,
        "a limit of the proxy rejects them",
        "see connection_rejected in the log, which names the clients",
    )

    def __init__(self, label: str, reported_from: float, meaning: str, advice: str) -> None:
        self.label = label
        self.reported_from = reported_from
        self.meaning = meaning
        self.advice = advice


@dataclass(frozen=True, slots=True)
class RecentResult:
    """The connections of the last minutes with one result. `text` is the last failure's."""

    listener: str
    broker: str
    result: str
    connections: int
    text: str = ""


class ConnectionResults(Collector):
    """The results of one process. The keys are listeners, brokers and results: a client chooses none."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._totals: Counter[tuple[str, str, Result]] = Counter()
        self._steps: OrderedDict[int, Counter[tuple[str, str, Result]]] = OrderedDict()
        self._texts: dict[tuple[str, str, Result], str] = {}
        self._next_look_ms: dict[tuple[str, str, Result], int] = {}

    def book(self, listener: str, broker: str, result: Result, text: str = "") -> None:
        """Count one connection. `text` says more about a failure."""
        key = (listener, broker, result)
        now_ms = self._clock.monotonic_ms()
        self._totals[key] += 1
        self._steps.setdefault(now_ms // _STEP_MS, Counter())[key] += 1
        self._forget(now_ms)
        if result is Result.SERVED:
            return
        self._texts[key] = bounded(text, MAX_CHARS)
        # Strangers may fail as often as they like: the sums of all rows are made once a second at most.
        is_few = sum(step[key] for step in self._steps.values()) < FEW
        if is_few or now_ms < self._next_look_ms.get(key, now_ms):
            return
        self._next_look_ms[key] = now_ms + LOOK_AGAIN_MS
        for failure in failures(self.lately()):
            if (failure.listener, failure.broker, failure.result) == (listener, broker, result.label):
                self._next_look_ms[key] = now_ms + LOG_AGAIN_MS
                facts = {"listener": listener, "broker": broker} if broker else {"listener": listener}
                more = {"failed": failure.failed, "connections": failure.connections, "error": failure.text}
                CLIENTS_FAIL(result=result.label, **facts, **more, advice=result.advice)

    def lately(self) -> list[RecentResult]:
        """The results of the last minutes, with at least one connection each."""
        self._forget(self._clock.monotonic_ms())
        counts: Counter[tuple[str, str, Result]] = Counter()
        for step in self._steps.values():
            counts.update(step)
        return [
            RecentResult(listener, broker, result.label, n, self._texts.get((listener, broker, result), ""))
            for (listener, broker, result), n in counts.items()
        ]

    def collect(self) -> Iterable[Metric]:
        family = CLIENT_CONNECTIONS.counts()
        for (listener, broker, result), count in self._totals.items():
            family.add_metric([listener, broker, result.label], count)
        yield family

    def _forget(self, now_ms: int) -> None:
        while self._steps and next(iter(self._steps)) <= (now_ms - LATELY_MS) // _STEP_MS:
            self._steps.popitem(last=False)


class Connected(Protocol):
    """A connection of a client."""

    @property
    def peer(self) -> Peer: ...

    @property
    def broker_name(self) -> str: ...


class OpenConnections(Collector):
    """The open connections of one process, by broker. Each scrape counts them."""

    def __init__(self, connections: Callable[[], Iterable[Connected]]) -> None:
        self._connections = connections

    def collect(self) -> Iterable[Metric]:
        family = BROKER_CONNECTIONS.levels()
        open_now = Counter((client.peer.listener, client.broker_name) for client in self._connections())
        for labels, count in open_now.items():
            family.add_metric(labels, count)
        yield family


@dataclass(frozen=True, slots=True)
class Failure:
    """So many of the last connections failed for one reason, and are worth a warning."""

    listener: str
    broker: str
    result: str
    failed: int
    connections: int
    text: str

    def sentence(self, cause: str = "") -> str:
        """Such as: 9 of 10 new clients of listener public fail: broker 2 cannot be reached (…). Check …

        `cause` replaces what the other side says, if the proxy knows better.
        """
        result = _BY_LABEL[self.result]
        whose = f"{self.failed} of {many(self.connections, 'new client')} of listener {self.listener} fail"
        if cause:
            return f"{whose}: {cause}"
        broker = {NO_BROKER: "", BOOTSTRAP: "every bootstrap server "}.get(
            self.broker, f"broker {self.broker} "
        )
        if self.broker == BOOTSTRAP and result is not Result.BROKER_UNREACHABLE:
            broker = "a bootstrap server "
        text = f" ({self.text})" if self.text else ""
        return f"{whose}: {broker}{result.meaning}{text}. {result.advice[:1].upper()}{result.advice[1:]}."


_BY_LABEL: Final[Mapping[str, Result]] = {result.label: result for result in Result}


def failures(lately: Iterable[RecentResult]) -> list[Failure]:
    """The failures that are worth a warning, the most frequent first. They are compared with all connections
    to the same broker, or to the same listener if no broker was chosen."""
    rows = joined([lately])
    of_broker: Counter[tuple[str, str]] = Counter()
    of_listener: Counter[str] = Counter()
    for row in rows:
        of_broker[row.listener, row.broker] += row.connections
        of_listener[row.listener] += row.connections
    reported = []
    for row in rows:
        whole = of_broker[row.listener, row.broker] if row.broker else of_listener[row.listener]
        is_reported = row.connections >= max(FEW, _BY_LABEL[row.result].reported_from * whole)
        if is_reported:
            reported.append(Failure(row.listener, row.broker, row.result, row.connections, whole, row.text))
    return sorted(reported, key=lambda failure: -failure.failed)


def joined(several: Iterable[Iterable[RecentResult]]) -> list[RecentResult]:
    """The rows of several processes as if they came from one."""
    sums: dict[tuple[str, str, str], RecentResult] = {}
    for row in (row for rows in several for row in rows):
        key = (row.listener, row.broker, row.result)
        old = sums.get(key)
        count = row.connections + (old.connections if old else 0)
        sums[key] = RecentResult(*key, count, row.text or (old.text if old else ""))
    return list(sums.values())
