"""The headline of the report, and sentences about its numbers."""

from collections.abc import Sequence
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.report import causes, words
from spark_reports.report.shape import Counts, HeldTopic, ReasonRow, Report, Totals
from tsproxy.model.words import noun

_MAX_WORDS: Final = 20
"""The most words of the headline. A cause that does not fit is left to the page."""
_TOLD: Final = 3
"""The topics that a sentence names."""
_NOT_ENFORCED: Final = "rules in audit or candidate limits"
_UNREAD: Final = "checked by the header of the compressed batch alone (inspect.compressed)"
_LIMITS_UNKNOWN: Final = "judged without the limits of the topic, which were not known"


def headline(
    totals: Totals,
    reasons: Sequence[ReasonRow],
    state: str = State.COMPLETE,
    missing_days: Sequence[str] = (),
) -> str:
    """The days that the report lacks, and what it says of the others in one sentence."""
    told = _of_all(totals, reasons, state)
    if not missing_days:
        return told
    verb = "is" if len(missing_days) == 1 else "are"
    return f"{words.days_in_words(missing_days)} {verb} missing from the log. {told}"


def _of_all(totals: Totals, reasons: Sequence[ReasonRow], state: str) -> str:
    """The share of rejected records, and the cause of most of them.

    Only a log that is complete (`state`) proves that nothing happened.
    """
    judged, rejected = totals["records_judged"], rejected_records(totals)
    if judged == 0 and (again := sent_again_records(totals)):
        hit = f"{words.many(again, 'record')} hit an error that most producers retry"
        return f"No record was stored or rejected for good: {hit}."
    if judged == 0:
        return _NOTHING[State(state)]
    if rejected == 0 and state == State.INCOMPLETE:
        return f"The log is incomplete: of {words.many(judged, 'record')} in it, none was rejected."
    if rejected == 0 and judged == 1:
        return "The one record was not rejected."
    if rejected == 0 and (would := totals["would_reject_records"]):
        share = words.share(would, judged)
        return f"None of {words.many(judged, 'record')} was rejected; {_NOT_ENFORCED} would reject {share}."
    if rejected == 0:
        return f"None of {words.many(judged, 'record')} was rejected."
    told = _how_many(rejected, judged, is_least=state == State.INCOMPLETE)
    if (main_cause := causes.main_cause(reasons)) is None:
        return f"{told}."
    main, records = main_cause
    part = "" if records == rejected else f". Main cause ({words.share(records, rejected)})"
    with_cause = f"{told}{part}: {main}."
    return with_cause if len(with_cause.split()) <= _MAX_WORDS else f"{told}."


def _how_many(rejected: int, judged: int, *, is_least: bool) -> str:
    if is_least:
        return f"At least {words.count(rejected)} of {words.many(judged, 'record')} were rejected"
    if judged == 1:
        return "The one record was rejected"
    if rejected == 1:
        return f"One of {words.many(judged, 'record')} was rejected"
    return f"{words.share(rejected, judged)} of {words.many(judged, 'record')} were rejected"


_NOTHING: Final = {
    State.COMPLETE: "No records came through the proxy.",
    State.COMPLETE_IN_PART: "No records came through the proxy at the times for which the log is complete.",
    State.INCOMPLETE: "No record could be read from the log, which is incomplete.",
}


def notes(report: Report) -> list[str]:
    """A sentence for each of these, if there are any: times of a wrong clock, records that were not read, and
    records that were judged without the limits of their topic."""
    totals = report["totals"]
    return [
        *map(words.wrong_clock, report["wrong_clocks"]),
        *_of_judged(totals, totals["records_unread"], _UNREAD),
        *_of_judged(totals, totals["records_limits_unknown"], _LIMITS_UNKNOWN),
    ]


def _of_judged(totals: Totals, records: int, told: str) -> list[str]:
    """One sentence about a part of the judged records, if there are any."""
    were = "was" if records == 1 else "were"
    share = words.share(records, totals["records_judged"])
    return [f"{words.many(records, 'record')} ({share}) {were} {told}."] if records else []


def rejected_records(totals: Counts) -> int:
    """Records that the proxy or the broker rejected for good."""
    return totals["records_rejected"] + totals["records_broker_rejected"]


def sent_again_records(totals: Totals) -> int:
    """Records that the proxy or a broker answered with an error after which most producers send again."""
    return (
        totals["records_rejected_retried"]
        + totals["records_broker_rejected_retried"]
        + totals["records_unconfirmed_retried"]
    )


def held(report: Report) -> list[str]:
    """`Stored, the rejected records would have held topic orders until 2027-11-20.`"""
    topics = report["held_topics"]
    rejected, stored = ([topic for topic in topics if topic["is_stored"] is is_so] for is_so in (False, True))
    told = [f"Stored, the rejected records would have held {_named(rejected)}."] if rejected else []
    return told + ([f"Records that were only counted hold {_named(stored)}."] if stored else [])


def _named(topics: Sequence[HeldTopic]) -> str:
    named = [f"{words.short(topic['topic'], 60)} until {words.day_of(topic['until_ms'])}" for topic in topics]
    more = [f"{words.count(len(topics) - _TOLD)} more"] if len(topics) > _TOLD else []
    return f"{noun(len(topics), 'topic')} {', '.join([*named[:_TOLD], *more])}"


def bad_and_good(totals: Totals) -> str:
    """The two parts of the rejected records: `6,093 bad records; 27,198 good ones were in the same batches.`
    Empty if all were bad."""
    good, bad = totals["collateral_records"], totals["bad_records"]
    if not good:
        return ""
    were = "was" if good == 1 else "were"
    told = f"{words.many(bad, 'bad record')}; {words.many(good, 'good one')} {were} in the same batches"
    return f"{told}: smaller batches would save most of them." if good > bad else f"{told}."
