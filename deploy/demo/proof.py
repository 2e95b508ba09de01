"""Compares the counts of the same records in four places, and finds every difference. Pure.

The four places are the clients' results, Kafka's log, tsproxy's decision log, and Spark's report. Each record
is identified by its key, so a lost record and a duplicated one do not cancel out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, Self

Place = tuple[str, str]
"""A topic and a client id."""

_NAMED: Final = 3
"""The maximum number of keys that a difference names."""


@dataclass(frozen=True, slots=True)
class _Sums:
    """Counts that can be added field by field."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Booked(_Sums):
    """Records as the decision log or the report counts them; `resent` are repetitions."""

    accepted: int = 0
    rejected: int = 0
    broker_rejected: int = 0
    unconfirmed: int = 0
    resent: int = 0
    culprits: int = 0
    collateral: int = 0

    @property
    def rejected_by_either(self) -> int:
        """Records rejected for good, by tsproxy or by the broker."""
        return self.rejected + self.broker_rejected

    @property
    def rejections(self) -> "Rejections":
        """The part of the counts that a report has for each client."""
        return Rejections(self.rejected_by_either, self.culprits, self.collateral)


@dataclass(frozen=True, slots=True)
class Rejections(_Sums):
    """Rejected records of one client, over all topics."""

    rejected: int = 0
    culprits: int = 0
    collateral: int = 0


@dataclass(frozen=True, slots=True)
class Reported:
    """The report's counts: in total, by topic, and by client with rejections."""

    totals: Booked
    topics: Mapping[str, Booked]
    clients: Mapping[str, Rejections]


@dataclass(frozen=True, slots=True)
class ClientResults:
    """The keys that a client's callbacks reported for one topic, and those that are culprits by the data."""

    sent: int = 0
    acknowledged: frozenset[bytes] = frozenset()
    rejected: frozenset[bytes] = frozenset()
    culprits: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """One client's records for one topic. `stored`: how often Kafka's log contains each key."""

    topic: str
    client_id: str
    results: ClientResults
    stored: Mapping[bytes, int]
    booked: Booked


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two counts of one line that must be equal."""

    left: str
    of_left: Callable[[Line], int]
    right: str
    of_right: Callable[[Line], int]


def _unnamed(line: Line) -> int:
    """Good records that count as culprits, because a broker rejected a batch and did not name the bad ones.

    Below Produce v8 a broker's answer names none, and tsproxy then counts the whole batch. There are at most
    as many as the broker rejected. If tsproxy rejected all, there are none.
    """
    surplus = line.booked.culprits - len(line.results.culprits)
    return max(0, min(surplus, line.booked.broker_rejected))


_PAIRS: Final = (
    _Pair(
        "sent",
        lambda line: line.results.sent,
        "acknowledged + rejected",
        lambda line: len(line.results.acknowledged) + len(line.results.rejected),
    ),
    _Pair(
        "acknowledged",
        lambda line: len(line.results.acknowledged),
        "in Kafka's log",
        lambda line: sum(line.stored.values()),
    ),
    _Pair(
        "acknowledged",
        lambda line: len(line.results.acknowledged),
        "accepted in the decision log",
        lambda line: line.booked.accepted,
    ),
    _Pair(
        "rejected",
        lambda line: len(line.results.rejected),
        "rejected + broker_rejected in the decision log",
        lambda line: line.booked.rejected_by_either,
    ),
    _Pair(
        "culprits in the data",
        lambda line: len(line.results.culprits),
        "culprits rejected at the client",
        lambda line: len(line.results.culprits & line.results.rejected),
    ),
    _Pair(
        "culprits in the data",
        lambda line: len(line.results.culprits),
        "culprits in the decision log",
        lambda line: line.booked.culprits - _unnamed(line),
    ),
    _Pair(
        "culprits + collateral in the decision log",
        lambda line: line.booked.culprits + line.booked.collateral,
        "rejected",
        lambda line: len(line.results.rejected),
    ),
    _Pair("unconfirmed in the decision log", lambda line: line.booked.unconfirmed, "none", lambda _: 0),
)


def lines(
    results: Mapping[Place, ClientResults],
    stored: Mapping[Place, Mapping[bytes, int]],
    booked: Mapping[Place, Booked],
) -> list[Line]:
    """A line for every topic and client that any of the three knows, those of the clients first."""
    places = dict.fromkeys((*results, *stored, *booked))
    return [
        Line(*place, results.get(place, ClientResults()), stored.get(place, {}), booked.get(place, Booked()))
        for place in places
    ]


def differences(lines: Sequence[Line], reported: Reported) -> list[str]:
    """A sentence for every pair that differs, and for every record that is lost, duplicated or unexpected."""
    found = [difference for line in lines for difference in _of_line(line)]
    found += _of_report("all topics", _sum(lines), reported.totals)
    for topic in sorted({line.topic for line in lines} | reported.topics.keys()):
        booked = _sum(line for line in lines if line.topic == topic)
        found += _of_report(topic, booked, reported.topics.get(topic, Booked()))
    for client_id in sorted({line.client_id for line in lines} | reported.clients.keys()):
        booked = _sum(line for line in lines if line.client_id == client_id)
        found += _of_report(client_id, booked.rejections, reported.clients.get(client_id, Rejections()))
    return found


def _sum(lines: Iterable[Line]) -> Booked:
    return sum((line.booked for line in lines), Booked())


def _of_report(what: str, booked: Booked | Rejections, reported: Booked | Rejections) -> Iterator[str]:
    for name in (f.name for f in fields(booked)):
        logged, shown = getattr(booked, name), getattr(reported, name)
        if logged != shown:
            yield f"{what}: {name} {logged:,} in the decision log, {shown:,} in the report"


def _of_line(line: Line) -> list[str]:
    where = f"{line.topic}, {line.client_id}"
    found = [
        f"{where}: {pair.left} {left:,}, {pair.right} {right:,}"
        for pair in _PAIRS
        if (left := pair.of_left(line)) != (right := pair.of_right(line))
    ]
    astray = {
        "acknowledged and not in Kafka's log": line.results.acknowledged - line.stored.keys(),
        "in Kafka's log and not acknowledged": line.stored.keys() - line.results.acknowledged,
        "in Kafka's log more than once": {key for key, times in line.stored.items() if times > 1},
    }
    for what, keys in astray.items():
        if keys:
            named = ", ".join(key.decode(errors="replace") for key in sorted(keys)[:_NAMED])
            found.append(f"{where}: {len(keys):,} {what}: {named}{' …' if len(keys) > _NAMED else ''}")
    return found


def conclusion(lines: Iterable[Line], found: Sequence[str]) -> str:
    """The result: all counts agree, or a list of differences."""
    if found:
        return "\n".join(f"DIFFERENT: {difference}" for difference in found)
    acknowledged = sum(len(line.results.acknowledged) for line in lines)
    rejected = sum(len(line.results.rejected) for line in lines)
    return (
        f"All counts agree: {acknowledged + rejected:,} records sent; {acknowledged:,} acknowledged and in "
        f"Kafka's log, each once; {rejected:,} rejected and not in it."
    )


_HEADINGS: Final = (
    ("at the client", ("sent", "acknowledged", "rejected")),
    ("in Kafka's log", ("records",)),
    ("in the decision log", ("accepted", "rejected", "by broker", "culprits", "collateral", "resent")),
)
_NAME_WIDTH: Final = 26


def table(lines: Sequence[Line], reported: Reported) -> str:
    """All counts for the terminal: each topic's clients, and the report's line below them."""
    rows = [_heading(), _row("", [list(names) for _, names in _HEADINGS])]
    for topic in dict.fromkeys(line.topic for line in lines):
        own = [line for line in lines if line.topic == topic]
        rows += [topic, *(_row(f"  {line.client_id}", _cells(line)) for line in own)]
        if topic in reported.topics:
            rows.append(_row("  = the report", [[""] * 3, [""], _booked_cells(reported.topics[topic])]))
    return "\n".join(rows)


def _cells(line: Line) -> list[list[str]]:
    results = line.results
    client = [results.sent, len(results.acknowledged), len(results.rejected)]
    return [[f"{n:,}" for n in client], [f"{sum(line.stored.values()):,}"], _booked_cells(line.booked)]


def _booked_cells(booked: Booked) -> list[str]:
    counts = (booked.accepted, booked.rejected, booked.broker_rejected)
    return [f"{n:,}" for n in (*counts, booked.culprits, booked.collateral, booked.resent)]


def _widths(names: Iterable[str]) -> list[int]:
    return [max(len(name), 7) for name in names]


def _row(name: str, groups: Sequence[Sequence[str]]) -> str:
    parts = [
        " ".join(f"{cell:>{width}}" for cell, width in zip(cells, _widths(names), strict=True))
        for cells, (_, names) in zip(groups, _HEADINGS, strict=True)
    ]
    return f"{name:<{_NAME_WIDTH}}" + " | ".join(parts)


def _heading() -> str:
    parts = []
    for title, names in _HEADINGS:
        widths = _widths(names)
        parts.append(f"{title:^{sum(widths) + len(widths) - 1}}")
    return " " * _NAME_WIDTH + " | ".join(parts).rstrip()
