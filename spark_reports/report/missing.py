"""Sentences about missing parts of a log: silent processes, lost lines, times without heartbeats."""

from collections.abc import Iterator, Sequence
from typing import Final

from spark_reports.log.completeness import LineGap, LogQuality, SilentBoot, State, UnheardSpan
from spark_reports.report import words

_MAX_SENTENCES: Final = 20
_NAME_CHARS: Final = 60


def sentences(log: LogQuality, most: int = _MAX_SENTENCES) -> list[str]:
    """One sentence for each missing thing, at most so many of each kind; `report.json` holds more.

    Silent processes and lost lines come first: both make totals a lower bound. Then come times without
    heartbeats, the longest first. Totals lack nothing if the proxy was down.
    """
    unheard = sorted(log["unheard"], key=_length_ms, reverse=True)
    return [
        *_listed([_silent(boot) for boot in log["silent"]], "silent process", most),
        *_listed([_gap(gap) for gap in log["gaps"]], "run of lost lines", most),
        *_listed([_unheard(span) for span in unheard], "time without heartbeats", most),
    ]


def state(log: LogQuality) -> State:
    """The state of the log. One that is unknown here counts as incomplete."""
    return next((known for known in State if known == log["state"]), State.INCOMPLETE)


def _length_ms(span: UnheardSpan) -> int:
    return words.epoch_ms(span["to_ts"]) - words.epoch_ms(span["from_ts"])


def _listed(texts: Sequence[str], kind: str, most: int) -> Iterator[str]:
    yield from texts[:most]
    if more := len(texts[most:]):
        yield f"And {kind}: {more:,} more, at least."


def _name(missing: SilentBoot | LineGap) -> str:
    return f"{words.short(missing['proxy'], _NAME_CHARS)} (boot {words.short(missing['boot'], _NAME_CHARS)})"


def _silent(boot: SilentBoot) -> str:
    last = words.instant_words(boot["last_ts"])
    return (
        f"{_name(boot)} stopped reporting after {last}: it was killed, or its last lines have not "
        f"arrived.{_counted_to(boot)}"
    )


def _counted_to(boot: SilentBoot) -> str:
    """A sentence about the batches that are in no total."""
    if boot["counted_to_ts"] is None:
        return " None of its batches are counted."
    return f" Its batches after {words.instant_words(boot['counted_to_ts'])} are not counted."


def _gap(gap: LineGap) -> str:
    first, last = gap["seq_first"], gap["seq_last"]
    numbers = f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
    after, before = (ts and words.instant_words(ts) for ts in (gap["after_ts"], gap["before_ts"]))
    when = f"between {after} and {before}" if after and before else ""
    when = when or (f"before {before}" if before else f"after {after}" if after else "at an unknown time")
    return f"{_name(gap)} lost {numbers}, {when}."


def _unheard(span: UnheardSpan) -> str:
    from_, to = words.instant_words(span["from_ts"]), words.instant_words(span["to_ts"])
    return (
        f"No usable log from {words.short(span['proxy'], _NAME_CHARS)} between {from_} and {to}: "
        "it was not running, or its log is missing."
    )
