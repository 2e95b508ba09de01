"""Topics that records from the future hold, or would have held if they had not been rejected.

Retention by time deletes neither such a record nor any after it, until its timestamp plus `retention.ms`
(`UnifiedLog.deletableSegments`). `tsproxy scan --json` knows the retention of each topic.
"""

from collections.abc import Mapping
from typing import Final

from pyarrow import compute as pc

from spark_reports.report.shape import HeldTopic
from spark_reports.report.table_source import TableSource
from tsproxy.model.kafka import LONG_MAX

_LEAST_AHEAD_MS: Final = 86_400_000
_COLUMNS: Final = ("topic", "last_ms", "drift_max_ms", "is_rejection", "is_only_counted_and_stored")


def held(counters: TableSource, retention_ms: Mapping[str, int]) -> list[HeldTopic]:
    """The topics of records that were rejected, and of records that a rule only counted, if these are more
    than a day ahead of the clock. The topic that is held longest is the first.

    A record's time is known within a row of the rollup: the last one of another row may be a day later.
    """
    until_ms: dict[tuple[str, bool], int] = {}
    is_ahead = pc.greater(counters.rows["drift_max_ms"], _LEAST_AHEAD_MS)
    for row in counters.rows.select(_COLUMNS).filter(is_ahead).to_pylist():
        topic, is_stored = row["topic"], row["is_only_counted_and_stored"]
        if topic in retention_ms and (row["is_rejection"] or is_stored):
            row_ms = row["last_ms"] + row["drift_max_ms"] + retention_ms[topic]
            until_ms[topic, is_stored] = max(until_ms.get((topic, is_stored), 0), min(row_ms, LONG_MAX))
    found = [
        HeldTopic(topic=topic, until_ms=until, is_stored=is_stored)
        for (topic, is_stored), until in until_ms.items()
    ]
    return sorted(found, key=lambda topic: (-topic["until_ms"], topic["topic"], topic["is_stored"]))
