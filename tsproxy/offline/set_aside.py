"""Lines of a decision log that cannot be used (`SetAside`): they are counted, and the first ones are
named."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import orjson

from tsproxy.decisions.conformity import fault
from tsproxy.decisions.text import bounded
from tsproxy.model.words import noun

MOST_NAMED: Final = 5


class SetAside:
    """`count` lines, of which the first MOST_NAMED are named."""

    def __init__(self) -> None:
        self.count = 0
        self._named: list[str] = []

    def usable(self, raw: bytes, path: Path, at_byte: int) -> Mapping[str, Any] | None:
        """The parsed line if it is what its kind must be, else None. `at_byte` is its position in the
        file."""
        try:
            line = orjson.loads(raw)
        except orjson.JSONDecodeError:
            wrong: str | None = "is no JSON object"
        else:
            wrong = fault(line)
        if wrong is None:
            return cast("Mapping[str, Any]", line)
        self.add(wrong, path, at_byte)
        return None

    def add(self, wrong: str, path: Path, at_byte: int) -> None:
        self.count += 1
        if len(self._named) < MOST_NAMED:
            self._named.append(f"{bounded(path.name)}: the line at byte {at_byte} {wrong}")

    def sentences(self) -> Iterator[str]:
        """One for each named line, and one for the others."""
        yield from self._named
        if (more := self.count - len(self._named)) > 0:
            yield f"{more:,} more {noun(more, 'line')} like these"
