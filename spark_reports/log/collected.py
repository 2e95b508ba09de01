"""The lines of a small log in the driver: each once, the boots they prove, and the gaps between them.

`read.deduplicated`, `boots.boots` and `sequence.gaps` do the same with a frame of any size, and a property
test compares the results. The rows have the columns of `read.marked_lines`, and the facts of `sequence` and
`boots`. Plain Python: Spark has computed everything about a single line.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

from spark_reports.log import grouping
from spark_reports.log.boots import BEATS
from spark_reports.log.completeness import JITTER_MS, Boot, LineGap
from spark_reports.log.grouping import Rows
from spark_reports.log.read import FIRST_OF_COPIES
from spark_reports.log.schema import COLUMNS
from spark_reports.log.sequence import BOOT
from spark_reports.log.set_aside import PROBLEMS_WITHOUT_IDENTITY
from tsproxy.decisions.fields import EventName, LifecycleKind

_boot: Final = itemgetter(*BOOT)
_seq: Final = itemgetter("seq")


def each_once(lines: Iterable[Mapping[str, Any]]) -> Rows:
    """Each line once; `copies` says how often it was delivered."""
    known: dict[tuple[str, str, int], dict[str, Any]] = {}
    once: Rows = []
    for line in lines:
        name = (line["proxy"], line["boot"], line["seq"])
        if not _is_identified(line):
            once.append(dict(line))
        elif (first := known.get(name)) is not None:
            copies = first["copies"] + line["copies"]
            if _order(line) < _order(first):
                first.update(line)
            first["copies"] = copies
        else:
            known[name] = dict(line)
            once.append(known[name])
    return once


def _order(line: Mapping[str, Any]) -> list[str]:
    return [line[name] or "" for name in FIRST_OF_COPIES]


def conflicts(lines: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, int]]:
    """The identities of lines whose copies differ in a column of the log."""
    first: dict[tuple[str, str, int], Mapping[str, Any]] = {}
    found: dict[tuple[str, str, int], None] = {}
    for line in lines:
        if _is_identified(line):
            name = (line["proxy"], line["boot"], line["seq"])
            other = first.setdefault(name, line)
            if other is not line and any(other[column] != line[column] for column in COLUMNS):
                found[name] = None
    return list(found)


def _is_identified(line: Mapping[str, Any]) -> bool:
    return line["problem"] not in PROBLEMS_WITHOUT_IDENTITY


def boots(lines: Rows) -> list[Boot]:
    """The rows of `boots.boots`, in the order of proxy and boot. `lines` has each line once."""
    by_boot = _by_boot(line for line in lines if _is_identified(line))
    beats = {
        _boot(row): row
        for row in grouping.of_rows(BEATS, [beat for own in by_boot.values() for beat in _beats(own)])
    }
    none = dict.fromkeys(BEATS.measures)
    spans = [span for name in sorted(by_boot) if (span := _span(by_boot[name])) is not None]
    return [none | beats.get(_boot(span), {}) | span for span in spans]


def _by_boot(lines: Iterable[dict[str, Any]]) -> dict[tuple[str, str], Rows]:
    """The lines of each boot, in the order of their numbers."""
    by_boot: dict[tuple[str, str], Rows] = {}
    for line in lines:
        by_boot.setdefault(_boot(line), []).append(line)
    return {name: sorted(own, key=_seq) for name, own in by_boot.items()}


def _beats(own: Rows) -> Iterator[dict[str, Any]]:
    """The heartbeats that cover a part of the period, each with the hole before it (`hole_ms`)."""
    end_ms = None
    for line in own:
        if line["begin_ms"] is not None:
            hole_ms = 0 if end_ms is None else line["begin_ms"] - end_ms
            yield line | {"hole_ms": hole_ms if hole_ms > JITTER_MS else None}
            end_ms = line["end_ms"]


def _span(own: Rows) -> Boot | None:
    """The row of `sequence.spans` of one boot; None if it has no line in the period."""
    before, inside, after = ([line for line in own if line["side"] == side] for side in (-1, 0, 1))
    if not inside:
        return None
    beats = [line["seq"] for line in before if line["event"] == EventName.HEARTBEAT]
    kinds = {line["kind"] for line in inside if line["event"] == EventName.LIFECYCLE}
    starts = [inside[0]["seq"], *_says(inside), *[seq + 1 for seq in beats[-1:]]]
    ends = [inside[-1]["seq"], *[seq - 1 for seq in _says(after)]]
    seq_from, seq_to = min(starts), max(ends)
    lines = sum(seq_from <= line["seq"] <= seq_to for line in own)
    return {
        **dict(zip(BOOT, _boot(own[0]), strict=True)),
        "seq_from": seq_from,
        "seq_to": seq_to,
        "lines": lines,
        "lost_lines": seq_to - seq_from + 1 - lines,
        "last_ms": max(line["ts_ms"] for line in inside),
        "started": LifecycleKind.START in kinds,
        "stopped": LifecycleKind.STOP in kinds,
        "seen_before": bool(before),
        "seen_after": bool(after),
    }


def _says(lines: Rows) -> list[int]:
    """The least `says_first` of the lines, in a list; an empty list if no line has one."""
    first = [line["says_first"] for line in lines if line["says_first"] is not None]
    return [min(first)] if first else []


def gaps(lines: Rows, lossy: Sequence[Boot], count: int) -> list[LineGap]:
    """The first `count` runs of lost lines, as `sequence.gaps` returns them. `lossy`: the boots with lost
    lines."""
    spans = {_boot(row): row for row in lossy}
    by_boot = _by_boot(line for line in lines if _is_identified(line) and _boot(line) in spans)
    found = [gap for name in sorted(by_boot) for gap in _gaps_of(by_boot[name], spans[name])]
    return found[:count]


def _gaps_of(own: Rows, span: Boot) -> Iterator[LineGap]:
    ends = (span["seq_from"] - 1, span["seq_to"] + 1)
    near = [line for line in own if ends[0] <= line["seq"] <= ends[1]]
    times = dict.fromkeys(ends) | {line["seq"]: _time(line) for line in near}
    numbers = sorted(times)
    usable = [seq for seq in numbers if times[seq] is not None]
    for last, following in pairwise(numbers):
        if following - last > 1:
            after = max((seq for seq in usable if seq <= last), default=None)
            before = min((seq for seq in usable if seq >= following), default=None)
            yield LineGap(
                proxy=span["proxy"],
                boot=span["boot"],
                seq_first=last + 1,
                seq_last=following - 1,
                after_ts=None if after is None else times[after],
                before_ts=None if before is None else times[before],
            )


def _time(line: Mapping[str, Any]) -> str | None:
    """The time of a usable line."""
    return line["ts"] if line["problem"] is None else None
