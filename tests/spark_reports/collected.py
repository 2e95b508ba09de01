"""The lines of a log, its evidence and its tables, as `daily` collects them without a rollup."""

from spark_reports.log import frames, log_reader
from spark_reports.report import tables
from spark_reports.report.sums import summed


def rows(spark, source):
    """The lines, each once."""
    with log_reader.lines(spark, source) as log:
        return frames.rows(log.frame)


def evidence(spark, source, listed=100):
    """The evidence about a log."""
    with log_reader.lines(spark, source) as log:
        return log.evidence(listed)


def collect(spark, source, top=50):
    """All tables; None if the log holds no line of the days."""
    with summed(spark, source) as sums:
        return None if sums is None else tables.collect(sums.day(), top)
