"""Exit codes, the same for every command, and the errors that end one without a result.

The text of each error is one sentence for the user; `cli` prints it without a traceback.
"""

from typing import Final

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
GATE_TRIPPED: Final = 3
"""A gate tripped, or the evidence is incomplete: for `doctor`, and for `daily` over unusable lines."""


class UsageError(Exception):
    """The user asked for something that is not possible; the text says why."""


class FailedError(Exception):
    """A command ends without a result; the text says why."""


class NothingToReportError(FailedError):
    """The inputs exist, but hold nothing of these days. A scheduler should notice that."""


class SparkUnavailableError(FailedError):
    """Spark did not start, or failed; the text says why and what to do."""


class LinesWouldVanishError(FailedError):
    """A run would replace a partition by one that lacks some of its lines; the text says of which days."""
