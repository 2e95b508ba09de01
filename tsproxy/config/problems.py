"""Mistakes in a configuration: where, and what would be right."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `place` is `file:line` or the flag; `text` ends with what is allowed."""

    place: str
    key: str
    text: str

    def __str__(self) -> str:
        parts = [part for part in (self.place, self.key) if part]
        return ": ".join([*parts, self.text])


class ConfigError(Exception):
    """The operator's mistakes, all of them, in the order of the file."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
