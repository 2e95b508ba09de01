"""Sentences about missing parts of a log: silent processes, lost lines, times without heartbeats."""

from collections.abc import Iterator, Sequence
from typing import Final

from spark_reports.log.completeness import LineGap, SilentBoot, State, UnheardSpan
from spark_reports.report import words
from spark_reports.report.shape import LogQuality

_IN_SHORT: Final = 3
_MAX_SENTENCES: Final = 20
"""The most sentences of each kind. `report.json` holds more."""
_NAME_CHARS: Final = 60


def sentences(log: LogQuality) -> list[str]:
    """One sentence for each missing thing, those that concern totals first."""
    return [*lost(log), *_listed([_unheard(span) for span in log["unheard"]], "time without heartbeats")]


def state(log: LogQuality) -> State:
    """The state of the log. One that is unknown here counts as incomplete."""
    return next((known for known in State if known == log["state"]), State.INCOMPLETE)


def in_short(log: LogQuality) -> list[str]:
    """The first sentences about lost lines, and one about the longest time without heartbeats.

    Only the longest such time has a sentence, because totals lack nothing if the proxy was down.
    """
    texts = list(lost(log))
    more = len(texts) - _IN_SHORT
    rest = [f"And {more:,} more like this."] if more > 0 else []
    longest = unheard(log)
    return [*texts[:_IN_SHORT], *rest, *([longest] if longest else [])]


def lost(log: LogQuality) -> list[str]:
    """Sentences about silent processes and lost lines. Both make totals a lower bound."""
    return [
        *_listed([_silent(boot) for boot in log["silent"]], "silent process"),
        *_listed([_gap(gap) for gap in log["gaps"]], "run of lost lines"),
    ]


def unheard(log: LogQuality) -> str | None:
    """A sentence about the longest time without heartbeats of a proxy that has others, or None."""
    if not log["unheard"]:
        return None
    longest = max(
        log["unheard"], key=lambda span: words.epoch_ms(span["to_ts"]) - words.epoch_ms(span["from_ts"])
    )
    more = len(log["unheard"]) - 1
    return _unheard(longest) + (f" And {words.many(more, 'time')} more." if more else "")


def _listed(texts: Sequence[str], kind: str) -> Iterator[str]:
    yield from texts[:_MAX_SENTENCES]
    if more := len(texts[_MAX_SENTENCES:]):
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
