"""Mistakes in a configuration: their places, and the remedies."""

import re
from dataclasses import dataclass
from typing import Final

HIDDEN: Final = "***"
"""Shown in place of a secret."""
_MAX_SHOWN: Final = 60
_PART: Final = "[a-z]{0,15}[0-9]{0,4}"
"""A part of a name or of a path, such as `v2`."""
_TOKEN: Final = re.compile(
    rf"(?<!\S)(?=\S*[0-9])(?=\S*[A-Za-z])(?!(?:{_PART}[/_-])*{_PART}(?!\S))[\w+/=-]{{20,}}(?!\S)"
)
"""A word that looks like a token or a password that was made by a machine: it may be at the wrong key."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+]*://")


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `place` is `file:line` or the flag. `text` ends with the allowed values."""

    place: str
    key: str
    text: str

    def __str__(self) -> str:
        parts = [part for part in (self.place, self.key) if part]
        return ": ".join([*parts, self.text])


class FileProblem(Problem):
    """A problem with what another file holds, such as a certificate that does not fit its key. The file may
    be well a moment later, when somebody has written the rest."""

    __slots__ = ()


def shown(text: str) -> str:
    """`text` in quotes, as an error may repeat it: without what stands before an @, since that may be a
    password, without words like tokens, and not too long."""
    text = _TOKEN.sub(HIDDEN, text)
    before, at, rest = text.rpartition("@")
    if at:
        scheme = _SCHEME.match(before)
        text = f"{scheme[0] if scheme else ''}{HIDDEN}@{rest}"
    return repr(text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "...")


class ConfigError(Exception):
    """All mistakes of the operator, in the order of the file."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems

    @property
    def is_of_files(self) -> bool:
        """True if the configuration itself has no mistake."""
        return all(isinstance(problem, FileProblem) for problem in self.problems)
