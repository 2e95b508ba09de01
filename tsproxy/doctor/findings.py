"""One line of an examination, and how all of them are shown. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from tsproxy.model.words import many

SHOWN: Final = 3
"""The number of names that a text shows of a list."""


class Grade(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """The proxy starts, and something will not be as expected."""
    PROBLEM = "problem"
    """The proxy does not start, does not serve all clients, or a part such as dead letters does not work."""
    SKIPPED = "skipped"
    """Not checked. The text says why."""


_WIDTH: Final = max(map(len, Grade))


@dataclass(frozen=True, slots=True)
class Finding:
    """A result of a check. `check` is its name. `advice` says what to do, unless `text` does."""

    check: str
    grade: Grade
    text: str
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Makes the findings of one check."""

    name: str

    def ok(self, text: str) -> Finding:
        return Finding(self.name, Grade.OK, text)

    def skipped(self, text: str) -> Finding:
        return Finding(self.name, Grade.SKIPPED, text)

    def warning(self, text: str, advice: str | None = None) -> Finding:
        return Finding(self.name, Grade.WARNING, text, advice)

    def problem(self, text: str, advice: str | None = None) -> Finding:
        return Finding(self.name, Grade.PROBLEM, text, advice)


def has_problem(findings: Iterable[Finding]) -> bool:
    return any(finding.grade is Grade.PROBLEM for finding in findings)


def as_text(findings: Sequence[Finding]) -> str:
    return "\n".join(_lines(findings))


def as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """The worst grade, the number of findings of each grade, and all findings."""
    counts = Counter(finding.grade for finding in findings)
    worst = next((grade for grade in (Grade.PROBLEM, Grade.WARNING) if counts[grade]), Grade.OK)
    return {
        "result": worst.value,
        "counts": {grade.value: counts[grade] for grade in Grade},
        "findings": [asdict(finding) for finding in findings],
    }


def few(names: Collection[str]) -> str:
    """The first names of a list, and how many more there are."""
    shown = ", ".join(list(names)[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN:,} more"


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    names = max((len(finding.check) for finding in findings), default=0)
    for finding in findings:
        yield f"{finding.grade:{_WIDTH}}  {finding.check:{names}}  {_one_line(finding.text)}"
        if finding.advice:
            yield f"{'':{_WIDTH}}  {'':{names}}  -> {_one_line(finding.advice)}"
    counts = Counter(finding.grade for finding in findings)
    yield ""
    yield (
        f"{many(counts[Grade.PROBLEM], 'problem')}, {many(counts[Grade.WARNING], 'warning')}, "
        f"{counts[Grade.OK]:,} ok, {counts[Grade.SKIPPED]:,} skipped"
    )


def _one_line(text: str) -> str:
    """The text without control characters: brokers choose some texts."""
    return "".join(character if character.isprintable() else " " for character in text)
