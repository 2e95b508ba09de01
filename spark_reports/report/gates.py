"""Quality gates for schedulers: `--fail-on 'rejected_rate>1%'` makes the exit code 3.

A gate is a measure, `>`, and a number or a percentage. `rejected_rate[orders]>1%` is a gate for one topic.
Help and errors list all measures.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.report import missing, words
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Report


def _rate(part: int, whole: int) -> Fraction:
    return Fraction(part, whole or 1)


def _quarantined(report: Report) -> int:
    return sum(report["log"]["quarantined_lines"].values())


MEASURES: Final[Mapping[str, Callable[[Report], Fraction | int]]] = {
    "rejected_rate": lambda r: _rate(rejected_records(r["totals"]), r["totals"]["records_judged"]),
    "rejected_records": lambda r: rejected_records(r["totals"]),
    "unit_mistake_records": lambda r: r["totals"]["unit_mistake_records"],
    "producers_affected": lambda r: r["totals"]["producers_affected"],
    "would_reject_records": lambda r: r["totals"]["would_reject_records"],
    "would_reject_producers": lambda r: r["totals"]["would_reject_producers"],
    "clients_refused_by_kafka_4": lambda r: r["kafka_4"]["clients"],
    "corrupt_rate": lambda r: _rate(_quarantined(r), r["log"]["lines"] + _quarantined(r)),
    "lost_lines": lambda r: r["log"]["lost_lines"],
    "missing_intervals": lambda r: r["log"]["missing_intervals"],
    "silent_boots": lambda r: r["log"]["silent_boots"],
    "lines_unusable": lambda r: r["log"]["lines_unusable"],
    "incomplete": lambda r: missing.state(r["log"]) is State.INCOMPLETE,
    "unheard": lambda r: len(r["log"]["unheard"]),
    "days_missing": lambda r: len(r["history"]["missing_days"]) if r["history"] else 0,
    "new_producers": lambda r: r["trend"]["new_producers"] if r["trend"] else 0,
}

OF_TOPIC: Final[Mapping[str, Callable[[int, int], Fraction | int]]] = {
    "rejected_rate": _rate,
    "rejected_records": lambda rejected, _: rejected,
}
"""The measures that exist for a single topic, too, by its rejected and its judged records."""

_LINES_MATTER: Final = (
    *("rejected_rate", "rejected_records", "unit_mistake_records", "producers_affected", "new_producers"),
    *("would_reject_records", "would_reject_producers", "clients_refused_by_kafka_4"),
)
"""The measures that may be more if lines are missing."""

_FORM: Final = re.compile(
    r"\s*(?P<measure>\w+)\s*(\[(?P<topic>[A-Za-z0-9._-]+)\])?\s*>\s*(?P<number>\d+(\.\d+)?)\s*(?P<percent>%?)\s*"
)


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate. It trips if its measure is above its bound; `topic` is None if the measure is that of the whole
    report."""

    text: str
    measure: str
    bound: Fraction
    topic: str | None = None

    def tripped_by(self, report: Report) -> str | None:
        """A sentence if the gate trips, else None. It also trips if the report may have left out the topic or
        counted it with others, or if lines that are lost or unusable may hold what it measures."""
        if self.topic is None:
            value = MEASURES[self.measure](report)
        else:
            topics = {row["topic"]: row for row in report["topics"]}
            if self.topic not in topics and report["topics_omitted"]["rejected_records"]:
                return f"{self.text}: the report does not list {self.topic}; a higher --top lists more topics"
            own, others = (topics.get(name) for name in (self.topic, words.FOLDED))
            rejected, judged = (rejected_records(own), own["records_judged"]) if own else (0, 0)
            folded = rejected_records(others) if others else 0
            value = OF_TOPIC[self.measure](rejected, judged)
            if value <= self.bound < OF_TOPIC[self.measure](rejected + folded, judged + folded):
                records = words.many(folded, "rejected record")
                return f"{self.text}: {records} of {words.FOLDED} may be of {self.topic}"
        log = report["log"]
        missing_lines = log["lost_lines"] + log["lines_unusable"] if self.measure in _LINES_MATTER else 0
        told = f"{self.text}: {self.measure} is"
        if not missing_lines:
            return f"{told} {float(value):.6g}" if value > self.bound else None
        lines, is_rate = words.many(missing_lines, "line"), isinstance(value, Fraction)
        least = f"{float(value):.6g} in the lines left" if is_rate else f"at least {value}"
        return f"{told} {least}: {lines} lost or unusable"


def parse(text: str) -> Gate:
    """A gate from its text. Raises ValueError with a text that says what is allowed."""
    parts = _FORM.fullmatch(text)
    if parts is None or parts["measure"] not in MEASURES:
        raise ValueError(f"{text!r} is not MEASURE>NUMBER[%]; measures: {', '.join(MEASURES)}")
    if parts["topic"] and parts["measure"] not in OF_TOPIC:
        raise ValueError(f"{text!r}: of one topic there are the measures {', '.join(OF_TOPIC)}")
    bound = Fraction(parts["number"]) / (100 if parts["percent"] else 1)
    return Gate(text.strip(), parts["measure"], bound, parts["topic"])
