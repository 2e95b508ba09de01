"""Proves that the log is complete: every line has a number, and every interval a heartbeat.

`quality` returns numbers, one sentence, and each missing thing by name. It cannot detect that the lines
of a whole proxy are missing, because nothing else in the log names that proxy. A line that exists but cannot
be used counts as missing if it holds totals or may hold them (`set_aside`). If nothing is missing, but a
proxy wrote no heartbeat for some time, the log is complete in part: nobody knows if that proxy was down.
Plain Python, no Spark.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypedDict, assert_never

from spark_reports.log.period import days_between, period_text
from tsproxy.decisions.text import instant
from tsproxy.model.words import many

GAPS_LISTED: Final = 100
_EXAMPLES: Final = 5
_OPEN: Final = ".open"

JITTER_MS: Final = 2_000
"""A time this short between two heartbeats is no hole: somebody may have set the clock."""
_MINUTE_MS: Final = 60_000
"""The shortest interval with which `_patience_ms` computes: the proxy's default. The first and the last
interval of a boot are cut short, so a boot of a second shows an interval of a second."""
_PATIENCE: Final = 3
"""A boot that wrote no stop line counts as dead after this many intervals without a line."""
_TIMES_NAMED: Final = 3
_DAY_MS: Final = 86_400_000
_MIDNIGHT: Final = "T00:00:00.000Z"
_UNKNOWN_VERSION: Final = "unknown_version"

NEWER: Final = "written by a newer tsproxy: update spark_reports"
"""The text for lines of a newer version of the log."""

Boot = dict[str, Any]
"""A row of `boots.boots`."""

Interval = tuple[int, int]
"""A time: from and to, in ms."""


class State(StrEnum):
    """The part of the period that the log proves. The values are part of report.json."""

    COMPLETE = "complete"
    """Nothing is missing, and each proxy wrote heartbeats during the whole period."""
    COMPLETE_IN_PART = "complete_in_part"
    """Nothing is missing from the times at which each proxy wrote heartbeats. At other times, a proxy wrote
    none."""
    INCOMPLETE = "incomplete"
    """Something is missing: totals are a lower bound."""


class LineGap(TypedDict):
    """A run of lost lines: their numbers, and the times of the lines before and after it, if known."""

    proxy: str
    boot: str
    seq_first: int
    seq_last: int
    after_ts: str | None
    before_ts: str | None


class SilentBoot(TypedDict):
    """A process that ended without a stop line, and the time of its last line.

    `counted_to_ts` is the end of its last heartbeat: later batches are in no total. Null if there is none.
    """

    proxy: str
    boot: str
    last_ts: str
    counted_to_ts: str | None


class UnheardSpan(TypedDict):
    """A time without a heartbeat of a proxy: it did not run, or its whole log is missing."""

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
    """Rows of `read.FILES`, with `duplicates` and `example`, or their sums (`log_reader`)."""


class LogQuality(TypedDict):
    """How complete the log is; `sentence` is at the head of every report."""

    is_complete: bool
    """True if nothing is missing, and each proxy wrote heartbeats during the whole period."""
    state: str
    """`complete`, `complete_in_part` (nothing is missing from the times at which proxies wrote heartbeats) or
    `incomplete` (totals are a lower bound)."""
    sentence: str
    proxies: int
    boots: int
    lines: int
    lost_lines: int
    intervals: int
    missing_intervals: int
    silent_boots: int
    gaps: list[LineGap]
    """The runs of lost lines, at most 100; `lost_lines` counts all."""
    silent: list[SilentBoot]
    """At most 100; `silent_boots` counts all."""
    unheard: list[UnheardSpan]
    """At most 100."""
    duplicate_lines: int
    quarantined_lines: dict[str, int]
    """By problem (`log.read`), over all files read."""
    quarantined_examples: list[str]
    lines_unusable: int
    """Lines set aside that hold totals of the period, or may hold them. They make the log incomplete."""
    changed_lines: int
    """Usable lines that a shipper or another tool changed: wrapped, packed, or with other numbers."""
    changed_examples: list[str]
    """The beginnings of some of them, as they came, with their files."""
    lines_dropped: int
    decisions_suppressed: int
    batches_folded: int
    files: int
    open_files: int


def quality(evidence: Evidence, first: date, last: date, now_ms: int) -> LogQuality:
    """The quality of the log of the period. `now_ms`: the reader's clock, for a day that is not over."""
    rows, files = _with_longest_interval(evidence.boots), evidence.files
    begin_ms, midnight_ms = _midnight_ms(first), _midnight_ms(last + timedelta(days=1))
    end_ms = min(midnight_ms, now_ms)
    proxies = len({row["proxy"] for row in rows})
    intervals, lost_lines = _total(rows, "intervals"), _total(rows, "lost_lines")
    missing_intervals = sum(_missing_intervals(row, begin_ms, end_ms) for row in rows)
    silent = [row for row in rows if _is_silent(row, end_ms, now_ms)]
    headless = sum(_is_headless(row, begin_ms) for row in rows)
    unheard = list(_unheard(rows, begin_ms, end_ms))
    unusable = by_problem(files, "unusable")
    lacks = list(_lacks(lost_lines, len(silent), headless, unusable, is_future=now_ms < begin_ms))
    named = [row for row in files if row["file"] is not None]
    number, number_open = _number_of(files)
    are_minutes = all(row["interval_ms"] == _MINUTE_MS for row in rows)
    expected = many(intervals + missing_intervals, "minute" if are_minutes else "interval")
    covered = f"{intervals:,} of {expected} from {many(proxies, 'proxy', 'proxies')}"
    state = State.COMPLETE_IN_PART if unheard else State.COMPLETE
    if lacks or missing_intervals:
        state = State.INCOMPLETE
    counted_to_ms = _counted_to_ms(rows, midnight_ms, now_ms)
    heard = _without((begin_ms, counted_to_ms), (span for _, span in unheard))
    times = _in_words(heard, is_one_day=first == last)
    return LogQuality(
        is_complete=state is State.COMPLETE,
        state=state,
        sentence=_sentence(state, covered, lacks, times, is_over=counted_to_ms == midnight_ms),
        proxies=proxies,
        boots=len(rows),
        lines=_total(rows, "lines"),
        lost_lines=lost_lines,
        intervals=intervals,
        missing_intervals=missing_intervals,
        silent_boots=len(silent),
        gaps=evidence.gaps[:GAPS_LISTED],
        silent=[_silent(row) for row in silent[:GAPS_LISTED]],
        unheard=[
            UnheardSpan(proxy=proxy, from_ts=instant(from_ms), to_ts=instant(to_ms))
            for proxy, (from_ms, to_ms) in unheard[:GAPS_LISTED]
        ],
        duplicate_lines=sum(row["duplicates"] for row in files if row["problem"] is None),
        quarantined_lines=by_problem(files, "lines"),
        quarantined_examples=sorted(
            f"{row['file']}: {row['problem']}: {row['example'] or ''}" for row in named if row["problem"]
        )[:_EXAMPLES],
        lines_unusable=sum(unusable.values()),
        changed_lines=sum(row["changed"] for row in files),
        changed_examples=sorted(f"{row['file']}: {row['example'] or ''}" for row in named if row["changed"])[
            :_EXAMPLES
        ],
        lines_dropped=sum(map(_lines_dropped, rows)),
        decisions_suppressed=_total(rows, "decisions_suppressed"),
        batches_folded=_total(rows, "batches_folded"),
        files=number,
        open_files=number_open,
    )


def _sentence(state: State, covered: str, lacks: Sequence[str], times: str, *, is_over: bool) -> str:
    """`Log complete: 2,880 of 2,880 minutes from 2 proxies, no line missing.`, or the times for which it is
    complete, or a list of what is missing."""
    match state:
        case State.COMPLETE:
            so_far = "" if is_over else f" for {times or 'no time yet'}"
            return f"Log complete{so_far}: {covered}, no line missing."
        case State.COMPLETE_IN_PART:
            times = times or "the times at which each proxy was heard"
            return (
                f"Log complete only for {times}: {covered}, no line missing. Nothing is known of other times."
            )
        case State.INCOMPLETE:
            return f"Log incomplete: {', '.join([covered, *lacks])}. Totals are a lower bound."
        case _:
            assert_never(state)


def _lacks(
    lost_lines: int, silent: int, headless: int, unusable: Mapping[str, int], *, is_future: bool
) -> Iterator[str]:
    """Each thing that the log lacks beside intervals, in words.

    `headless`: the number of boots that began before their first line. It is unknown how many lines came
    before that line: the shipping of the log may have begun later than the proxy. `unusable`: the number of
    lines set aside that hold totals of the period, or may hold them, by problem.
    """
    if lost_lines:
        yield many(lost_lines, "line lost", "lines lost")
    if silent:
        yield f"{many(silent, 'proxy process', 'proxy processes')} stopped reporting"
    if headless:
        yield f"{many(headless, 'proxy process', 'proxy processes')} not heard from the beginning"
    if unusable:
        yield unusable_in_words(unusable)
    if is_future:
        yield "its days lie in the future by this machine's clock, so that clock or a proxy's is wrong"


def days_without_log(evidence: Evidence, first: date, last: date, now_ms: int) -> list[str]:
    """The days of the period, such as `2026-11-20`, of which no proxy has left a heartbeat, as far as they
    have begun by the reader's clock."""
    lost: dict[str, list[Interval]] = {}
    for gap in evidence.gaps:
        if gap["after_ts"] is not None and gap["before_ts"] is not None:
            lost.setdefault(gap["boot"], []).append((_ms(gap["after_ts"]), _ms(gap["before_ts"])))
    heard = [span for row in evidence.boots for span in _heard_but(row, lost.get(row["boot"], ()))]
    return [
        day.isoformat()
        for day in days_between(first, last)
        if (begin_ms := _midnight_ms(day)) < now_ms
        and not any(from_ms < begin_ms + _DAY_MS and to_ms > begin_ms + JITTER_MS for from_ms, to_ms in heard)
    ]


def _heard_but(row: Boot, lost: Iterable[Interval]) -> list[Interval]:
    """The times that the boot covers with heartbeats, without those of its lost lines."""
    from_ms, to_ms = _heard(row)
    return [(from_ms, to_ms)] if from_ms == to_ms else _without((from_ms, to_ms), lost)


def _ms(ts: str) -> int:
    return round(datetime.fromisoformat(ts).timestamp() * 1000)


def _counted_to_ms(rows: Sequence[Boot], midnight_ms: int, now_ms: int) -> int:
    """The time up to which all boots that may still run have reported their counts. If none runs, and the
    period goes on: the last line. If the last heartbeats of a period that is over have come: its end."""
    end_ms = min(midnight_ms, now_ms)
    running = [row for row in rows if not _is_over(row) and not _is_silent(row, end_ms, now_ms)]
    if end_ms == now_ms and not running:
        return min(end_ms, max((row["last_ms"] for row in rows), default=end_ms))
    counted_to_ms = min([end_ms, *(_told_to_ms(row) for row in running)])
    is_whole = end_ms == midnight_ms and end_ms - counted_to_ms <= JITTER_MS
    return end_ms if is_whole else counted_to_ms


def _told_to_ms(row: Boot) -> int:
    """The end of the boot's last heartbeat. A boot without a heartbeat is younger than an interval: the time
    is an interval before its last line."""
    covered_to_ms = row["covered_to_ms"]
    return int(row["last_ms"] - row["interval_ms"] if covered_to_ms is None else covered_to_ms)


def _is_over(row: Boot) -> bool:
    """True for a boot that ended in order, or went on after the period."""
    return bool(row["stopped"] or row["seen_after"])


def _with_longest_interval(rows: Sequence[Boot]) -> list[Boot]:
    """The boots, each with the longest interval of its proxy: the configured one, unless all are short."""
    longest_ms: dict[str, int] = {}
    for row in rows:
        longest_ms[row["proxy"]] = max(longest_ms.get(row["proxy"], 1), row["interval_ms"] or 1)
    return [row | {"interval_ms": longest_ms[row["proxy"]]} for row in rows]


def _silent(row: Boot) -> SilentBoot:
    covered_ms = row["covered_to_ms"]
    return SilentBoot(
        proxy=row["proxy"],
        boot=row["boot"],
        last_ts=instant(row["last_ms"]),
        counted_to_ts=None if covered_ms is None else instant(covered_ms),
    )


def _number_of(files: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The number of files, and of those that are still being written."""
    counted = [row for row in files if "files" in row]
    if counted:
        return counted[0]["files"], counted[0]["open_files"]
    names = {row["file"] for row in files}
    return len(names), sum(name.endswith(_OPEN) for name in names)


def _lines_dropped(row: Boot) -> int:
    """The lines that the boot dropped in the period, as far as heartbeats tell."""
    before = 0 if row["started"] else row["dropped_before"]
    return (row["lines_dropped"] or 0) - (before or 0)


def _total(rows: Sequence[Boot], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _patience_ms(row: Boot) -> int:
    """The longest time in ms for which a running proxy may write no line."""
    return int(_PATIENCE * max(_MINUTE_MS, row["interval_ms"]))


def _is_headless(row: Boot, begin_ms: int) -> bool:
    """True for a boot whose first lines are missing, so that its beginning is unknown.

    If its heartbeats cover the period from the beginning, earlier lines do not matter.
    """
    if row["started"] or row["seen_before"] or not row["seq_from"]:
        return False
    covers_ms = row["covered_from_ms"]
    return covers_ms is None or bool(covers_ms - begin_ms > JITTER_MS)


def _is_silent(row: Boot, end_ms: int, now_ms: int) -> bool:
    """True for a boot that ended without a stop line. A running boot writes a heartbeat each interval.

    If its heartbeats cover the period to the end, nothing of the period is lost, whatever came after it. The
    log may end with the period: so does a table that was written for the period.
    """
    covered_ms = row["covered_to_ms"]
    if covered_ms is not None and end_ms - covered_ms <= JITTER_MS:
        return False
    return not _is_over(row) and now_ms - row["last_ms"] > _patience_ms(row)


def _missing_intervals(row: Boot, begin_ms: int, end_ms: int) -> int:
    if row["covered_from_ms"] is None:
        return 0
    uncovered_ms = row["hole_ms"]
    if not row["started"]:
        uncovered_ms += _beyond_jitter(row["covered_from_ms"] - begin_ms)
    if row["seen_after"]:
        uncovered_ms += _beyond_jitter(end_ms - row["covered_to_ms"])
    return int(-(-uncovered_ms // row["interval_ms"]))


def _beyond_jitter(gap_ms: int) -> int:
    return gap_ms if gap_ms > JITTER_MS else 0


def _unheard(rows: Sequence[Boot], begin_ms: int, end_ms: int) -> Iterator[tuple[str, Interval]]:
    """The times, longer than a few intervals, that no boot of a proxy covers: (proxy, time)."""
    in_order = sorted((row["proxy"], _heard(row), _patience_ms(row)) for row in rows)
    for proxy, spans in groupby(in_order, key=itemgetter(0)):
        heard_to_ms = begin_ms
        for _, (from_ms, to_ms), patience_ms in spans:
            if from_ms - heard_to_ms > patience_ms:
                yield proxy, (heard_to_ms, min(from_ms, end_ms))
            heard_to_ms = max(heard_to_ms, to_ms)
        if end_ms - heard_to_ms > patience_ms:
            yield proxy, (heard_to_ms, end_ms)


def _heard(row: Boot) -> Interval:
    """The time that the boot covers with heartbeats. If it has no heartbeat: the moment of its last line."""
    if row["covered_from_ms"] is None:
        return row["last_ms"], row["last_ms"]
    return row["covered_from_ms"], row["covered_to_ms"]


def _without(whole: Interval, spans: Iterable[Interval]) -> list[Interval]:
    """The parts of `whole` that none of the spans covers."""
    uncovered, (from_ms, end_ms) = [], whole
    for start_ms, to_ms in sorted(spans):
        if min(start_ms, end_ms) > from_ms:
            uncovered.append((from_ms, min(start_ms, end_ms)))
        from_ms = max(from_ms, to_ms)
    return [*uncovered, (from_ms, end_ms)] if from_ms < end_ms else uncovered


def _in_words(spans: Sequence[Interval], *, is_one_day: bool) -> str:
    """`04:15 to 04:16 and 10:00:30 to 24:00 UTC`; empty for no time, or for too many."""
    if len(spans) > _TIMES_NAMED:
        return ""
    return " and ".join(
        f"{_moment(from_ms, is_one_day, is_end=False)} to {_moment(to_ms, is_one_day, is_end=True)}"
        for from_ms, to_ms in spans
    ) + (" UTC" if spans else "")


def _moment(time_ms: int, is_one_day: bool, *, is_end: bool) -> str:
    """`10:00`, `10:00:30`, `2026-11-20 10:00`; a time that ends at midnight ends at `24:00`."""
    text = instant(time_ms)
    is_midnight = is_end and text.endswith(_MIDNIGHT)
    day = instant(time_ms - 1)[:10] if is_midnight else text[:10]
    clock = "24:00" if is_midnight else text[11:19].removesuffix(":00")
    return clock if is_one_day else f"{day} {clock}"


def by_problem(files: Iterable[Mapping[str, Any]], name: str) -> dict[str, int]:
    """The sums of a column of the files' rows by problem. A problem with the sum 0 is not a key."""
    sums: dict[str, int] = {}
    for row in files:
        if row["problem"] is not None and row[name]:
            sums[row["problem"]] = sums.get(row["problem"], 0) + row[name]
    return dict(sorted(sums.items()))


def unusable_in_words(unusable: Mapping[str, int]) -> str:
    """`12 unusable lines that may hold totals (…)`, with the fix if one is known; empty for none.

    `unusable`: lines by problem.
    """
    lines = sum(unusable.values())
    if not lines:
        return ""
    newer = unusable.get(_UNKNOWN_VERSION, 0)
    cure = f" ({NEWER})" if newer == lines else f" ({newer:,} {NEWER})" if newer else ""
    return f"{many(lines, 'unusable line')} that may hold totals{cure}"


def nothing_usable(first: date, last: date, unusable: Mapping[str, int]) -> str:
    """The error text for a period whose lines are all unusable; `unusable`: lines by problem."""
    lines = unusable_in_words(unusable)
    return (
        f"nothing of {period_text(first, last)} can be used: {lines}; `spark_reports doctor` shows examples"
    )
