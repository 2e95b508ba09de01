"""The tables of a log, as `daily` collects them without a rollup."""

from spark_reports.report import tables


def collect(spark, source, top=50):
    """All tables; None if the log holds no line of the days."""
    with tables.summed(spark, source) as sums:
        return None if sums is None else tables.collect(sums, top)
