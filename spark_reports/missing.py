"""What is missing of a log, in words: each silent process, each run of lost lines, each unheard time."""

from collections.abc import Iterator, Sequence
from typing import Final

from spark_reports import words
from spark_reports.shape import LineGap, LogQuality, SilentBoot, UnheardSpan

_SAID: Final = 20
"""Of each kind, one by one; `report.json` holds more."""
_NAME_CHARS: Final = 60


def said(log: LogQuality) -> list[str]:
    """One sentence for each thing that is missing, what concerns totals first; [] where nothing is."""
    return [*lost(log), *_listed([_unheard(span) for span in log["unheard"]], "time without a word")]


def lost(log: LogQuality) -> list[str]:
    """What makes totals a lower bound: silent processes and lost lines."""
    return [
        *_listed([_silent(boot) for boot in log["silent"]], "silent process"),
        *_listed([_gap(gap) for gap in log["gaps"]], "run of lost lines"),
    ]


def unheard(log: LogQuality) -> str | None:
    """The longest time in which a proxy was not heard that is heard otherwise; None where there is none."""
    if not log["unheard"]:
        return None
    longest = max(
        log["unheard"], key=lambda span: words.epoch_ms(span["to_ts"]) - words.epoch_ms(span["from_ts"])
    )
    more = len(log["unheard"]) - 1
    return _unheard(longest) + (f" And {words.many(more, 'time')} more." if more else "")


def _listed(sentences: Sequence[str], kind: str) -> Iterator[str]:
    yield from sentences[:_SAID]
    if more := len(sentences[_SAID:]):
        yield f"And {kind}: {more:,} more, at least."


def _name(missing: SilentBoot | LineGap) -> str:
    return f"{words.short(missing['proxy'], _NAME_CHARS)} (boot {words.short(missing['boot'], _NAME_CHARS)})"


def _silent(boot: SilentBoot) -> str:
    last = words.instant_words(boot["last_ts"])
    return f"{_name(boot)} fell silent after {last}: killed, or its last lines have not arrived."


def _gap(gap: LineGap) -> str:
    first, last = gap["seq_first"], gap["seq_last"]
    numbers = f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
    after, before = (ts and words.instant_words(ts) for ts in (gap["after_ts"], gap["before_ts"]))
    when = f"between {after} and {before}" if after and before else ""
    when = when or (f"before {before}" if before else f"after {after}" if after else "at its beginning")
    return f"{_name(gap)} lost {numbers}, {when}."


def _unheard(span: UnheardSpan) -> str:
    from_, to = words.instant_words(span["from_ts"]), words.instant_words(span["to_ts"])
    return (
        f"{words.short(span['proxy'], _NAME_CHARS)} was not heard from {from_} to {to}: "
        "it was down, or the log of that time is missing whole."
    )
