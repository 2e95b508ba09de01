"""The records that other limits would reject: exact numbers at the histogram's edges, else intervals.

Kafka rejects whole batches. The log counts each batch by its largest drift ahead and by its smallest drift
behind, so "more than T ahead" is a sum of buckets. Two histograms do not show how many batches break at
least one of two limits: the answer lies between the larger of both numbers and their sum. A record without
a timestamp (-1) is in no histogram. Batches that a producer sent again by itself are not counted.

Plain Python, no Spark. `totals` are rows `side` (ahead | behind), `bucket`, `batches`, `records`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypedDict

from spark_reports.log.grouping import Grouping, How, Measure, Rows
from spark_reports.report.groups import CLIENT
from spark_reports.report.shape import AroundLimit, AtLimit, WhatIf
from tsproxy.decisions.drift import EDGES, THRESHOLDS_MS, bucket_bounds_ms

if TYPE_CHECKING:
    from spark_reports.report.table_source import TableSource

SIDES: Final = ("ahead", "behind")

LEFT_OUT: Final = "left_out"
"""The side of records whose histograms are of another version: nobody knows where they lie."""

SHOWN_MS: Final = (
    *(n * 1_000 for n in (1, 10, 60, 600, 3_600, 21_600)),
    *(n * 86_400_000 for n in (1, 7, 30, 365, 3_650)),
)
"""The limits that a table shows."""

RIVALS: Final = 3
"""A topic's own limit is compared with at most so many stricter limits, and at most so many wider ones."""


class Between(TypedDict):
    """An interval that holds a number. If both ends are equal, the number is exact."""

    at_least: int
    at_most: int


class Beyond(TypedDict):
    """The batches and records that are farther from the clock than a limit."""

    batches: Between
    records: Between


def beyond(totals: Iterable[dict[str, Any]], side: str, limit_ms: int) -> Beyond:
    """The batches and records of one side that drift by more than `limit_ms` (0 or more)."""
    sums = {"batches": [0, 0], "records": [0, 0]}
    for row in totals:
        if row["side"] != side or (row["bucket"] > 0) != (side == "ahead") or row["bucket"] == 0:
            continue
        above_ms, up_to_ms = bucket_bounds_ms(row["bucket"])
        for name, between in sums.items():
            between[0] += row[name] if above_ms >= limit_ms else 0
            between[1] += row[name] if up_to_ms > limit_ms else 0
    return Beyond(
        batches=Between(at_least=sums["batches"][0], at_most=sums["batches"][1]),
        records=Between(at_least=sums["records"][0], at_most=sums["records"][1]),
    )


def either(ahead: Beyond, behind: Beyond, batches: int, records: int) -> Beyond:
    """The batches and records that break at least one limit; `batches` and `records` are the numbers of
    all."""
    return Beyond(
        batches=_union(ahead["batches"], behind["batches"], batches),
        records=_union(ahead["records"], behind["records"], records),
    )


def _union(one: Between, other: Between, whole: int) -> Between:
    return Between(
        at_least=max(one["at_least"], other["at_least"]),
        at_most=min(one["at_most"] + other["at_most"], whole),
    )


def in_short(answer: WhatIf) -> list[tuple[int, int, int]]:
    """For each of SHOWN_MS: the limit, records farther ahead, and records farther behind."""
    ahead, behind = ({row["limit_ms"]: row["records"] for row in answer[side]} for side in SIDES)
    return [
        (limit_ms, ahead[limit_ms], behind[limit_ms])
        for limit_ms in SHOWN_MS
        if limit_ms in ahead and limit_ms in behind
    ]


def around(totals: Sequence[dict[str, Any]], side: str, own_ms: int | None) -> list[AroundLimit]:
    """The records that a topic's own limit rejects, and limits around it; `own_ms` is None for no limit.

    Up to RIVALS limits of SHOWN_MS are on either side of the own limit. Each of them rejects a different
    number of records. The limits ascend.
    """
    now = [] if own_ms is None else [_around(totals, side, own_ms, is_own=True)]
    others = [_around(totals, side, limit_ms) for limit_ms in SHOWN_MS if limit_ms != own_ms]
    wider = [row for row in others if own_ms is not None and row["limit_ms"] > own_ms]
    stricter = [row for row in reversed(others) if own_ms is None or row["limit_ms"] < own_ms]
    return [*reversed(_different(now, stricter)), *now, *_different(now, wider)]


def _around(
    totals: Sequence[dict[str, Any]], side: str, limit_ms: int, *, is_own: bool = False
) -> AroundLimit:
    records = beyond(totals, side, limit_ms)["records"]
    return AroundLimit(
        side=side,
        limit_ms=limit_ms,
        is_own=is_own,
        records_at_least=records["at_least"],
        records_at_most=records["at_most"],
    )


def _different(now: Sequence[AroundLimit], rows: Iterable[AroundLimit]) -> list[AroundLimit]:
    """The first RIVALS rows that differ in the number of rejected records from the row chosen before."""
    rivals: list[AroundLimit] = []
    last = now[0]["records_at_most"] if now else 0
    for row in rows:
        if row["records_at_most"] != last and len(rivals) < RIVALS:
            rivals.append(row)
            last = row["records_at_most"]
    return rivals


def curve(totals: Sequence[dict[str, Any]], side: str) -> list[AtLimit]:
    """For each limit that people configure, the exact numbers that it would reject on one side."""
    past = {limit_ms: beyond(totals, side, limit_ms) for limit_ms in THRESHOLDS_MS}
    return [
        AtLimit(limit_ms=limit_ms, batches=there["batches"]["at_least"], records=there["records"]["at_least"])
        for limit_ms, there in past.items()
    ]


def first_bucket_beyond(limit_ms: int) -> int:
    """The nearest bucket that lies completely beyond the limit."""
    return bisect_left((0, *EDGES), limit_ms) + 1


def whole(totals: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """The numbers of batches and records that carry a timestamp. Every batch is once on each side."""
    ahead = [row for row in totals if row["side"] == "ahead"]
    return sum(row["batches"] for row in ahead), sum(row["records"] for row in ahead)


def left_out(totals: Iterable[dict[str, Any]]) -> int:
    """The number of records on no side, since their histograms are of another version."""
    return sum(row["records"] for row in totals if row["side"] == LEFT_OUT)


def by_client(drift: "TableSource", after_ms: int | None, before_ms: int | None) -> Rows:
    """The clients with records past a limit, the one with most first: CLIENT, `batches`, `records`, at least
    so many.

    A batch past both limits counts once: on the side that rejects more of the client's batches.
    """
    ahead, behind = (
        None if limit_ms is None else first_bucket_beyond(limit_ms) for limit_ms in (after_ms, before_ms)
    )
    return drift.beyond(ahead, behind).grouped(_BY_SIDE).table(_BY_CLIENT)


_COUNTS: Final = ("batches", "records")
_BY_SIDE: Final = Grouping(
    keys=(*CLIENT, "side"), measures={name: Measure(How.SUM, (name,)) for name in _COUNTS}
)
_BY_CLIENT: Final = Grouping(
    keys=CLIENT, measures={name: Measure(How.GREATEST, (name,)) for name in _COUNTS}, order=("records",)
)
