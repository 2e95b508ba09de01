"""Topics that records from the future hold, or would have held if they had not been rejected.

Retention by time deletes neither such a record nor any after it, until its timestamp plus `retention.ms`
(`UnifiedLog.deletableSegments`). `tsproxy scan --json` knows the retention of each topic.
"""

from collections.abc import Mapping
from typing import Final

from spark_reports.report import groups
from spark_reports.report.shape import HeldTopic
from spark_reports.report.table_source import TableSource
from tsproxy.model.kafka import LONG_MAX

_LEAST_AHEAD_MS: Final = 86_400_000


def held(counters: TableSource, retention_ms: Mapping[str, int]) -> list[HeldTopic]:
    """The topics of records that were rejected, and of records that a rule only counted, if these are more
    than a day ahead of the clock. The topic that is held longest is the first."""
    found = [
        HeldTopic(
            topic=row["topic"],
            until_ms=min(row["last_ms"] + ahead_ms + kept_ms, LONG_MAX),
            is_stored=is_stored,
        )
        for is_stored, table in ((False, groups.REJECTED_AHEAD), (True, groups.STORED_AHEAD))
        for row in counters.table(table)
        if (ahead_ms := row["drift_max_ms"] or 0) > _LEAST_AHEAD_MS
        and (kept_ms := retention_ms.get(row["topic"])) is not None
    ]
    return sorted(found, key=lambda topic: (-topic["until_ms"], topic["topic"], topic["is_stored"]))
