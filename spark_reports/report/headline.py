"""The headline of the report and the few sentences after it.

Clients choose their names, so names are shortened and made printable here, too.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.report import causes, words
from spark_reports.report.causes import Cause
from spark_reports.report.shape import (
    Counts,
    Producer,
    ReasonRow,
    Repaired,
    Report,
    Totals,
    Trend,
    WouldReject,
)

_NAMED: Final = 3
_NAME_CHARS: Final = 60
_MAX_WORDS: Final = 20
"""The most words of the headline. A cause that does not fit is left to the sentences below it."""
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
        return f"No record was stored or rejected for good: {_hit_errors(again)}."
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


def _name(client_id: str | None) -> str:
    return words.short(words.client(client_id), _NAME_CHARS)


def details(report: Report) -> list[str]:
    """Wrong clocks, the clients that Kafka 4 refuses, the bad records and the good ones rejected with them.
    Then the causes in the order of their records, each with its worst producer and its owner. Then a sentence
    for each of these, if there are any: repeated sending, records that were not read, repairs, what would be
    rejected, records far behind the clock, new producers."""
    totals = report["totals"]
    sentences = [
        *map(words.wrong_clock, report["wrong_clocks"]),
        report["kafka_4"]["sentence"],
        bad_and_good(totals),
        *_causes(totals, report["producers"], report["reasons"]),
        _sent_again(totals),
        *_of_judged(totals, totals["records_unread"], _UNREAD),
        *_of_judged(totals, totals["records_limits_unknown"], _LIMITS_UNKNOWN),
        *_not_rejected(totals, report["would_reject"], report["repaired"]),
        *_new(report["trend"]),
    ]
    return [sentence for sentence in sentences if sentence]


def _causes(totals: Totals, producers: Sequence[Producer], reasons: Sequence[ReasonRow]) -> list[str]:
    merged, rejected = causes.merged(reasons, producers, totals), rejected_records(totals)
    named = [
        f"{words.share(cause.records, rejected)} of rejected records: {cause.name}, {_senders(cause)}."
        for cause in merged[:_NAMED]
    ]
    rest = merged[_NAMED:]
    share = words.share(sum(cause.records for cause in rest), rejected)
    more = words.many(len(rest), "more cause")
    return [*named, *([f"{share}: {more}."] if rest else [])]


def _senders(cause: Cause) -> str:
    """`all from billing (Payments)`; `from 3 producers, most from billing (Payments)`."""
    if not cause.senders:
        return f"from {cause.from_producers}"
    worst, [reason, *_] = cause.senders[0].producer, cause.senders[0].reasons
    team = f" ({words.team(worst['team'])})" if worst["team"] else ""
    name = f"{_name(worst['client_id'])}{team}"
    what = f", whose {reason['cause']} ({reason['fix']})" if cause.name == causes.WRONG_UNIT else ""
    if cause.producers == 1 and cause.is_exact:
        return f"all from {name}{what}"
    return f"from {cause.from_producers}, most from {name}{what}"


def _of_judged(totals: Totals, records: int, told: str) -> list[str]:
    """One sentence about a part of the judged records, if there are any."""
    were = "was" if records == 1 else "were"
    share = words.share(records, totals["records_judged"])
    return [f"{words.many(records, 'record')} ({share}) {were} {told}."] if records else []


def _not_rejected(
    totals: Totals, would_reject: Sequence[WouldReject], repaired: Sequence[Repaired]
) -> Iterator[str]:
    """A sentence about records that were repaired, that would be rejected, and that lie far behind the clock,
    if there are any."""
    behind, watched = words.far_behind(would_reject)
    behind.sort(key=lambda row: -row["bad_records"])
    told: Sequence[tuple[Sequence[Repaired | WouldReject], str]] = (
        (repaired, f"{_of(totals['records_repaired'], totals['repaired_producers'])} were repaired"),
        (
            watched,
            f"{_of(totals['would_reject_records'], totals['would_reject_producers'])} would be rejected by "
            f"{_NOT_ENFORCED}",
        ),
        (
            behind,
            f"{words.many(totals['far_behind_records'], 'record')} far behind the clock were not rejected",
        ),
    )
    for rows, text in told:
        if rows:
            worst = rows[0]
            yield f"{text}; most came from {_name(worst['client_id'])}: {worst['cause']} ({worst['fix']})."


def _of(records: int, producers: int) -> str:
    return f"{words.many(records, 'record')} of {words.many(producers, 'producer')}"


def _new(trend: Trend | None) -> list[str]:
    """One sentence about clients that were not rejected in the days before, if there are any."""
    clients = words.new_clients(trend)
    if trend is None or not clients:
        return []
    named = clients[:_NAMED]
    rest = words.new_count(trend) - len(named)
    more = f" and {words.count(rest)} more" if rest > 0 else ""
    was = "was" if len(named) + rest == 1 else "were"
    names = ", ".join(words.short(name, _NAME_CHARS) for name in named)
    return [f"New: {names}{more} {was} never rejected in the days before{words.days_known(trend)}."]


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


def bad_and_good(totals: Totals) -> str:
    """The two parts of the rejected records: `6,093 bad records; 27,198 good ones were in the same batches.`
    Empty if all were bad."""
    good, bad = totals["collateral_records"], totals["bad_records"]
    if not good:
        return ""
    were = "was" if good == 1 else "were"
    told = f"{words.many(bad, 'bad record')}; {words.many(good, 'good one')} {were} in the same batches"
    return f"{told}: smaller batches would save most of them." if good > bad else f"{told}."


def _sent_again(totals: Totals) -> str:
    again = sent_again_records(totals)
    if not again:
        return ""
    return (
        f"{_hit_errors(again)}. Records that were sent again are counted once, by their final outcome; "
        "records that were given up are in no total."
    )


def _hit_errors(again: int) -> str:
    return f"{words.many(again, 'record')} hit an error that most producers retry"
