"""Regular expressions whose time grows with the length of the name alone (`LinearRegex`).

Clients choose their names, and the event loop of all clients matches them. Python's own engine tries a
pattern in every way that a name allows: `(a+)+b` takes years for a name of forty letters. RE2 reads each
character once, whatever the pattern. It is an extra package, so an installation without regular expressions
does not need it.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Self

MOST_MEMORY_BYTES: Final = 1 << 18
"""The memory of one expression, and so a bound on its size: RE2 rejects a larger one (`a{1000}{1000}`)."""


class EngineMissingError(Exception):
    """The package with RE2 is not installed."""


@dataclass(frozen=True, slots=True)
class LinearRegex:
    """A regular expression in RE2's syntax: Python's without references back and without looking around."""

    source: str
    _compiled: Any = field(compare=False, repr=False)

    @classmethod
    def of(cls, source: str) -> Self:
        """Raises EngineMissingError, and ValueError with the reason if the expression cannot be read."""
        try:
            import re2  # an extra
        except ImportError:
            raise EngineMissingError from None
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MOST_MEMORY_BYTES
        try:
            # As bytes: names may hold bytes that are no UTF-8, and must not raise.
            return cls(source, re2.compile(source.encode("utf-8", "surrogatepass"), options))
        except re2.error as error:
            reason = error.args[0]
            raise ValueError(reason.decode("utf-8", "replace")) from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Workers get the configuration from their supervisor."""
        return LinearRegex.of, (self.source,)

    def fullmatch(self, name: str) -> object | None:
        match: object | None = self._compiled.fullmatch(name.encode("utf-8", "surrogatepass"))
        return match
