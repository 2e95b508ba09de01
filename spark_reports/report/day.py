"""A period as Spark leaves it: its rollup, and the few other rows that a report needs.

Everything that comes after is plain Python: the tables (`tables`), the report (`assemble`), its pages.
"""

from dataclasses import dataclass
from datetime import date

from spark_reports.log.completeness import Evidence
from spark_reports.log.grouping import Rows
from spark_reports.report.table_source import TableSource


@dataclass(frozen=True, slots=True)
class Day:
    """One day, nearly always, or a few."""

    first: date
    last: date
    counters: TableSource
    """The rows of `transforms.ROLLUP`."""
    buckets: TableSource
    """`rollup.topic_drift`, with `is_own_side`."""
    evidence: Evidence
    clocks: tuple[Rows, Rows]
    """`wrong_clocks.times` and `harmed`."""
    addresses: Rows
    """`transforms.client_addresses`."""
    examples: Rows
    """`transforms.examples`."""
    limits: Rows
    """`transforms.limits`."""
    in_force: Rows
    """`transforms.in_force`."""
    refused: Rows
    """`transforms.refused_by_kafka_4`."""
