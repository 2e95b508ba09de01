"""The errors that end a command without a result.

The text of each error is one sentence for the user; `cli` prints it without a traceback.
"""


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
