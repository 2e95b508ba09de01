"""Mistakes in a configuration: their places, and the remedies."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `place` is `file:line` or the flag. `text` ends with the allowed values."""

    place: str
    key: str
    text: str

    def __str__(self) -> str:
        parts = [part for part in (self.place, self.key) if part]
        return ": ".join([*parts, self.text])


class ConfigError(Exception):
    """All mistakes of the operator, in the order of the file."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
