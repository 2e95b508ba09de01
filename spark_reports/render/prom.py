"""report.prom: the report's numbers as OpenMetrics text, for a push gateway or a collector of text files.

Each measure of a gate is a gauge of that name, so an alert and a gate mean the same. The others count records
by outcome, for all topics and for each topic of the report, and rejected ones by cause and by team (`""`:
those that nobody owns), so that an alert can go to the team. No series is named for a day: the last day of
the period is a gauge, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal

from spark_reports.log.completeness import State
from spark_reports.report import gates, missing, words
from spark_reports.report.shape import Counts, Report

_PREFIX: Final = "tsproxy_report"
_OUTCOMES: Final = ("accepted", "repaired", "rejected", "broker_rejected", "unconfirmed")
_OF_TEAMS: Final[Mapping[Literal["rejected_records", "would_reject_records"], str]] = MappingProxyType(
    {
        "rejected_records": "Records rejected for good",
        "would_reject_records": "Records that rules in audit or the candidate limits would reject",
    }
)
_TEAMS: Final = 100
"""The most teams with series, beside "no owner": those with most rejected records."""
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})

_Sample = tuple[Mapping[str, str], float]


def render(report: Report) -> str:
    """The text of report.prom."""
    return "".join(f"{line}\n" for line in _lines(report)) + "# EOF\n"


def _lines(report: Report) -> Iterator[str]:
    generated_s = words.epoch_ms(report["generated_ts"]) / 1000
    yield from _gauge("generated_timestamp_seconds", "When the report was made.", [({}, generated_s)])
    last_s = words.epoch_ms(f"{report['last_day']}T00:00:00.000Z") / 1000
    yield from _gauge("last_day_timestamp_seconds", "The beginning of the last day.", [({}, last_s)])
    for name, measure in gates.MEASURES.items():
        yield from _gauge(name, f"The measure {name} of gates.", [({}, float(measure(report)))])
    state = missing.state(report["log"])
    states = [({"state": known.value}, float(known is state)) for known in State]
    yield from _gauge("log_state", "1 for the state of the decision log.", states)
    yield from _gauge("records", "Records judged, by outcome.", _outcomes(report["totals"], {}))
    by_topic = [
        sample for topic in report["topics"] for sample in _outcomes(topic, {"topic": topic["topic"]})
    ]
    yield from _gauge("topic_records", "Records judged, by topic and outcome.", by_topic)
    by_cause = [
        ({"cause": row["kind"]}, float(sum(row["rejected_records"]))) for row in report["cause_hours"]
    ]
    yield from _gauge("cause_records", "Records rejected, by kind of cause.", by_cause)
    teams = report["owners"]["teams"] if report["owners"] else []
    shown = [*teams[:-1][:_TEAMS], *teams[-1:]]  # the last one is "no owner"
    for name, meaning in _OF_TEAMS.items():
        by_team = [({"team": row["team"] or ""}, row[name]) for row in shown]
        yield from _gauge(f"team_{name}", f"{meaning}, by owner.", by_team)


def _outcomes(counts: Counts, labels: Mapping[str, str]) -> list[_Sample]:
    numbers = {name: value for name, value in counts.items() if isinstance(value, int)}
    return [({**labels, "outcome": name}, numbers[f"records_{name}"]) for name in _OUTCOMES]


def _gauge(name: str, meaning: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield f"# HELP {_PREFIX}_{name} {meaning}"
    yield f"# TYPE {_PREFIX}_{name} gauge"
    for labels, value in samples:
        named = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
        yield f"{_PREFIX}_{name}{f'{{{named}}}' if named else ''} {value:.17g}"
