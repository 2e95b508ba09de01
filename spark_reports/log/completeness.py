"""Proves that the log is complete: every line has a number, and every interval a heartbeat.

`completeness` returns numbers, one sentence, and each missing thing by name. It does not miss a proxy that
has no line at all: the log cannot show it. A line that exists but cannot be used is missing, too, if it holds
totals or may hold them (`set_aside`). Plain Python, no Spark.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any, Final, TypedDict

from tsproxy.decisions.text import instant

GAPS_LISTED: Final = 100

JITTER_MS: Final = 2_000
"""A time this short between two heartbeats is no hole: somebody may have set the clock."""
_INTERVAL_MS: Final = 60_000
"""The assumed interval of a boot without a heartbeat."""
_PATIENCE: Final = 3
"""A boot that wrote no stop line counts as dead after this many intervals without a line."""
_UNKNOWN_VERSION: Final = "unknown_version"

NEWER: Final = "written by a newer tsproxy: update spark_reports"
"""The text for lines of a newer version of the log."""

Boot = dict[str, Any]
"""A row of `boots.boots`."""


class LineGap(TypedDict):
    """A run of lost lines: their numbers, and the times of the lines before and after it, if known."""

    proxy: str
    boot: str
    seq_first: int
    seq_last: int
    after_ts: str | None
    before_ts: str | None


class SilentBoot(TypedDict):
    """A process that ended without a stop line, and the time of its last line."""

    proxy: str
    boot: str
    last_ts: str


class UnheardSpan(TypedDict):
    """A time without a heartbeat of a proxy: it was down, or its whole log is missing."""

    proxy: str
    from_ts: str
    to_ts: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts about a log from which its completeness follows."""

    boots: list[Boot]
    gaps: list[LineGap]
    """Rows of `sequence.gaps`."""
    files: list[dict[str, Any]]
    """Rows of `read.files`."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """The completeness of a period. `missing_intervals` is an estimate from the time without heartbeats."""

    proxies: int
    boots: int
    lines: int
    lost_lines: int
    intervals: int
    missing_intervals: int
    lines_dropped: int
    decisions_suppressed: int
    batches_folded: int
    gaps: list[LineGap]
    """At most GAPS_LISTED runs of lost lines."""
    silent: list[SilentBoot]
    """Boots that ended without a stop line: they were killed, or their last lines have not arrived."""
    headless: int
    """Boots that began before their first line. Nobody knows how many lines came before it: the shipping of
    the log may have begun later than the proxy."""
    unheard: list[UnheardSpan]
    """Times without a heartbeat of a proxy that has others: it was down, or a whole boot is lost."""
    unusable: Mapping[str, int]
    """Lines set aside that hold totals of the period, or may hold them: by problem."""

    @property
    def is_complete(self) -> bool:
        missing = self.lost_lines or self.missing_intervals or self.silent or self.headless or self.unusable
        return not missing

    @property
    def sentence(self) -> str:
        """`Log complete: 2,880 of 2,880 intervals from 2 proxies, no line missing.` or a list of what is
        missing."""
        expected = self.intervals + self.missing_intervals
        covered = (
            f"{self.intervals:,} of {expected:,} intervals from {_many(self.proxies, 'proxy', 'proxies')}"
        )
        if self.is_complete:
            return f"Log complete: {covered}, no line missing."
        missing = [
            _many(self.lost_lines, "line lost", "lines lost") if self.lost_lines else "",
            f"{_many(len(self.silent), 'proxy process', 'proxy processes')} ended without a stop line"
            if self.silent
            else "",
            f"{_many(self.headless, 'proxy process', 'proxy processes')} not heard from the beginning"
            if self.headless
            else "",
            unusable_in_words(self.unusable),
        ]
        return f"Log incomplete: {', '.join([covered, *filter(None, missing)])}. Totals are a lower bound."


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def completeness(evidence: Evidence, first: date, last: date, now_ms: int) -> Completeness:
    """The completeness of the period. `now_ms`: the reader's clock, for a day that is not over."""
    rows = evidence.boots
    begin_ms = _midnight_ms(first)
    end_ms = min(_midnight_ms(last + timedelta(days=1)), now_ms)
    return Completeness(
        proxies=len({row["proxy"] for row in rows}),
        boots=len(rows),
        lines=_total(rows, "lines"),
        lost_lines=_total(rows, "lost_lines"),
        intervals=_total(rows, "intervals"),
        missing_intervals=sum(_missing_intervals(row, begin_ms, end_ms) for row in rows),
        lines_dropped=_total(rows, "lines_dropped"),
        decisions_suppressed=_total(rows, "decisions_suppressed"),
        batches_folded=_total(rows, "batches_folded"),
        gaps=evidence.gaps[:GAPS_LISTED],
        silent=[
            SilentBoot(proxy=row["proxy"], boot=row["boot"], last_ts=instant(row["last_ms"]))
            for row in rows
            if _is_silent(row, end_ms, now_ms)
        ],
        headless=sum(_is_headless(row, begin_ms) for row in rows),
        unheard=list(_unheard(rows, begin_ms, end_ms)),
        unusable=by_problem(evidence.files, "unusable"),
    )


def _total(rows: Sequence[Boot], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _interval_ms(row: Boot) -> int:
    return max(1, row["interval_ms"] or _INTERVAL_MS)


def _is_headless(row: Boot, begin_ms: int) -> bool:
    """True for a boot whose first lines are missing, so that its beginning is unknown.

    If its heartbeats cover the period from the beginning, earlier lines do not matter.
    """
    if row["started"] or row["seen_before"] or not row["seq_from"]:
        return False
    covers_ms = row["covered_from_ms"]
    return covers_ms is None or bool(covers_ms - begin_ms > JITTER_MS)


def _is_silent(row: Boot, end_ms: int, now_ms: int) -> bool:
    """True for a boot that ended without a stop line. A living boot writes a heartbeat each interval.

    If its heartbeats cover the period to the end, nothing of the period is lost, whatever came after it: the
    log may end with the period, as a table does that was written for it.
    """
    covered_ms = row["covered_to_ms"]
    if covered_ms is not None and end_ms - covered_ms <= _interval_ms(row) + JITTER_MS:
        return False
    is_over = row["stopped"] or row["seen_after"]
    return not is_over and now_ms - row["last_ms"] > _PATIENCE * _interval_ms(row)


def _missing_intervals(row: Boot, begin_ms: int, end_ms: int) -> int:
    if row["covered_from_ms"] is None:
        return 0
    uncovered_ms = row["hole_ms"]
    if not row["started"]:
        uncovered_ms += _beyond_jitter(row["covered_from_ms"] - begin_ms)
    if row["seen_after"]:
        uncovered_ms += _beyond_jitter(end_ms - row["covered_to_ms"])
    return int(-(-uncovered_ms // _interval_ms(row)))


def _beyond_jitter(gap_ms: int) -> int:
    return gap_ms if gap_ms > JITTER_MS else 0


def _unheard(rows: Sequence[Boot], begin_ms: int, end_ms: int) -> Iterator[UnheardSpan]:
    """The times, longer than a few intervals, that no boot of a proxy covers with heartbeats. For a boot that
    has none, and whose first lines are missing: the time up to its last line."""
    for row in rows:
        if row["covered_from_ms"] is None and _is_headless(row, begin_ms):
            yield UnheardSpan(proxy=row["proxy"], from_ts=instant(begin_ms), to_ts=instant(row["last_ms"]))
    beating = sorted(
        (r for r in rows if r["covered_from_ms"] is not None),
        key=lambda r: (r["proxy"], r["covered_from_ms"]),
    )
    for proxy, own in groupby(beating, key=lambda r: r["proxy"]):
        covered_ms = begin_ms
        for row in own:
            patience_ms = _PATIENCE * _interval_ms(row)
            start_ms = row["covered_from_ms"]
            if start_ms - covered_ms > patience_ms:
                yield UnheardSpan(proxy=proxy, from_ts=instant(covered_ms), to_ts=instant(start_ms))
            covered_ms = max(covered_ms, row["covered_to_ms"])
        if end_ms - covered_ms > patience_ms:
            yield UnheardSpan(proxy=proxy, from_ts=instant(covered_ms), to_ts=instant(end_ms))


def by_problem(files: Iterable[Mapping[str, Any]], name: str) -> dict[str, int]:
    """The sums of a column of `read.files` by problem. A problem with the sum 0 is not a key."""
    sums: dict[str, int] = {}
    for row in files:
        if row["problem"] is not None and row[name]:
            sums[row["problem"]] = sums.get(row["problem"], 0) + row[name]
    return dict(sorted(sums.items()))


def unusable_in_words(unusable: Mapping[str, int]) -> str:
    """`12 lines set aside that may hold totals (…)`, with the fix if one is known; empty for none.

    `unusable`: lines by problem.
    """
    lines = sum(unusable.values())
    if not lines:
        return ""
    newer = unusable.get(_UNKNOWN_VERSION, 0)
    cure = f" ({NEWER})" if newer == lines else f" ({newer:,} {NEWER})" if newer else ""
    return f"{lines:,} {'line' if lines == 1 else 'lines'} set aside that may hold totals{cure}"


def nothing_usable(first: date, last: date, unusable: Mapping[str, int]) -> str:
    """The error text for a period whose lines are all unusable; `unusable`: lines by problem."""
    lines = unusable_in_words(unusable)
    return (
        f"nothing of {period_text(first, last)} can be used: {lines}; `spark_reports doctor` shows examples"
    )


def period_text(first: date, last: date) -> str:
    """`2026-11-20`, or `2026-11-20..2026-11-21`."""
    return f"{first}" if first == last else f"{first}..{last}"
