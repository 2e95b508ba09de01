"""Why a command ends without its result: each is one sentence and an exit code, never a traceback."""


class UsageError(Exception):
    """What the user asked for cannot be done as asked; the text says why."""


class NothingToReportError(Exception):
    """The inputs are there, but hold nothing of the days; a scheduler should hear of it."""


class SparkUnavailableError(Exception):
    """Spark could not be started, or gave up; the text says why and what to do."""


class NotAReportError(Exception):
    """A file that should be a report.json is none of a version known here."""
