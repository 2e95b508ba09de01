"""`hazard`: what a partition's newest timestamp means for its retention. Pure.

Source: `UnifiedLog.deletableSegments`, `LocalLog`, `LogSegment.largestTimestamp`, `LogCleanerManager` of
Kafka 3.9 and 4.3. Retention uses a segment's largest timestamp. It begins with the oldest segment and stops
at the first one that stays. A record from the future therefore keeps its own segment and all later ones,
until its timestamp plus `retention.ms`. A segment whose timestamps are all older than `retention.ms` is
deleted at the next check, even the active one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tsproxy.cluster import topic_limits
from tsproxy.model.kafka import LONG_MAX
from tsproxy.offline.words import instant, span

CLEANUP_POLICY: Final = topic_limits.CLEANUP_POLICY
RETENTION_MS: Final = "retention.ms"
RETENTION_BYTES: Final = "retention.bytes"
MIN_COMPACTION_LAG_MS: Final = "min.compaction.lag.ms"

CONFIG_NAMES: Final = (*topic_limits.CONFIG_NAMES, RETENTION_MS, RETENTION_BYTES, MIN_COMPACTION_LAG_MS)
"""The settings of a topic that matter here."""


class Kind(StrEnum):
    """`ahead`: the newest timestamp lies in the future. `expired`: it is older than the retention."""

    AHEAD = "ahead"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Retention:
    """A topic's own retention settings; None for unlimited."""

    deletes: bool
    compacts: bool
    retention_ms: int | None
    retention_bytes: int | None
    min_compaction_lag_ms: int

    @classmethod
    def of(cls, settings: Mapping[str, str | None]) -> "Retention":
        """The retention in a topic's settings. Raises ValueError if Kafka's documentation does not allow a
        value."""
        policy = settings.get(CLEANUP_POLICY)
        # An empty list is not the default: Kafka accepts it, and deletes and compacts nothing then.
        policies = {"delete"} if policy is None else {name.strip() for name in policy.split(",")}
        return cls(
            deletes="delete" in policies,
            compacts="compact" in policies,
            retention_ms=_limit(settings.get(RETENTION_MS)),
            retention_bytes=_limit(settings.get(RETENTION_BYTES)),
            min_compaction_lag_ms=int(settings.get(MIN_COMPACTION_LAG_MS) or 0),
        )


@dataclass(frozen=True, slots=True)
class Hazard:
    """The effect on retention. `kept_until_ms`: when retention by time may first delete the segment; None if
    never, or if the retention is unknown."""

    kind: Kind
    kept_until_ms: int | None
    meaning: str


def hazard(newest_ms: int, retention: Retention | None, now_ms: int, ahead_ms: int) -> Hazard | None:
    """The hazard, or None if nothing is wrong. A timestamp counts as future if it is more than `ahead_ms`
    after `now_ms`, since clocks differ.

    `retention` is None if the user may not read the topic's configuration.
    """
    if newest_ms > now_ms + ahead_ms:
        return _ahead(newest_ms, retention)
    if newest_ms < 0 or retention is None or not retention.deletes or retention.retention_ms is None:
        return None
    if newest_ms >= now_ms - retention.retention_ms:
        return None
    text = f"all of it is older than retention.ms ({span(retention.retention_ms)}): deleted at the next check"
    return Hazard(Kind.EXPIRED, newest_ms + retention.retention_ms, text)


def _ahead(newest_ms: int, retention: Retention | None) -> Hazard:
    if retention is None:
        return Hazard(Kind.AHEAD, None, "retention is not known: the topic's configuration may not be read")
    meanings, kept_until_ms = [], None
    if retention.deletes and retention.retention_ms is not None:
        kept_until_ms = min(newest_ms + retention.retention_ms, LONG_MAX)
        meanings.append(f"its segment and all after it are kept until {instant(kept_until_ms)}")
        if retention.retention_bytes is not None:
            meanings.append(f"unless they exceed retention.bytes ({retention.retention_bytes:,})")
    elif retention.deletes:
        meanings.append("kept forever anyway: retention.ms is unlimited")
    if retention.compacts and retention.min_compaction_lag_ms:
        clean_from_ms = min(newest_ms + retention.min_compaction_lag_ms, LONG_MAX)
        meanings.append(
            f"its segment and all after it are not compacted before {instant(clean_from_ms)} "
            "(min.compaction.lag.ms)"
        )
    elif retention.compacts and not retention.deletes:
        meanings.append("not deleted by time anyway: cleanup.policy is compact")
    elif not retention.deletes:
        meanings.append("kept forever anyway: cleanup.policy is empty")
    return Hazard(Kind.AHEAD, kept_until_ms, ", ".join(meanings))


def _limit(value: str | None) -> int | None:
    """The limit. Kafka's -1 and Long.MAX both mean that there is none."""
    limit = -1 if value is None else int(value)
    return None if limit < 0 or limit == LONG_MAX else limit
