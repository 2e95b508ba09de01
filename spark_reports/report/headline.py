"""The headline of the report and the few sentences after it.

Clients choose their names, so names are shortened and made printable here, too.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.report import words
from spark_reports.report.shape import Counts, Producer, ReasonRow, Totals, Trend, Why, WouldReject
from tsproxy.model.outcome import VerdictName
from tsproxy.model.verdict import UnitGuess

_NAMED: Final = 3
_LEAST_SHARE: Final = 0.1
"""A producer with a smaller part of the rejected records is not named below the headline."""
_NAME_CHARS: Final = 60
_REJECTING: Final = (VerdictName.REJECTED, VerdictName.BROKER_REJECTED)
_WRONG_UNIT: Final = "the wrong time unit"
"""The cause that stands for all wrong units."""


def headline(
    totals: Totals,
    producers: Sequence[Producer],
    reasons: Sequence[ReasonRow],
    state: str = State.COMPLETE,
    missing_days: Sequence[str] = (),
) -> str:
    """The days that the report lacks, and what it says of the others."""
    told = _of_all(totals, producers, reasons, state)
    if not missing_days:
        return told
    verb = "is" if len(missing_days) == 1 else "are"
    return f"{words.days_in_words(missing_days)} {verb} missing from the log. {told}"


def _of_all(totals: Totals, producers: Sequence[Producer], reasons: Sequence[ReasonRow], state: str) -> str:
    """The share of rejected records, the cause of most of them, and the number of records in a wrong unit if
    that is not the main cause.

    Only a log that is complete (`state`) proves that nothing happened.
    """
    judged, rejected = totals["records_judged"], rejected_records(totals)
    if judged == 0:
        return _NOTHING[State(state)]
    if rejected == 0:
        return (
            "The one record was not rejected." if judged == 1 else f"None of {judged:,} records was rejected."
        )
    sentences = [_how_many(rejected, judged)]
    causes = _causes(reasons)
    if found := main_cause(reasons):
        main, _ = found
        sentences.append(_main_cause(main, causes[main], totals, producers))
        if _WRONG_UNIT in causes and main != _WRONG_UNIT:
            mistaken = totals["producers_with_unit_mistakes"]
            send = f"{words.many(mistaken, 'producer')} {'sends' if mistaken == 1 else 'send'}"
            records = words.many(totals["unit_mistake_records"], "record")
            sentences.append(f"{send} {_WRONG_UNIT}: {records}.")
    return " ".join(sentences)


def _how_many(rejected: int, judged: int) -> str:
    if judged == 1:
        return "The one record was rejected."
    if rejected == 1:
        return f"One of {judged:,} records was rejected."
    return f"{words.share(rejected, judged)} of {judged:,} records were rejected."


_NOTHING: Final = {
    State.COMPLETE: "No records came through the proxy.",
    State.COMPLETE_IN_PART: "No records came through the proxy at the times for which the log is complete.",
    State.INCOMPLETE: "No record could be read from the log, which is incomplete.",
}


def main_cause(reasons: Iterable[ReasonRow]) -> tuple[str, int] | None:
    """The cause of most rejected records, and their number; None if nothing was rejected."""
    sums = {cause: sum(row["records"] for row in rows) for cause, rows in _causes(reasons).items()}
    main = max(sums, key=lambda cause: sums[cause], default=None)
    return None if main is None else (main, sums[main])


def _causes(reasons: Iterable[ReasonRow]) -> dict[str, list[ReasonRow]]:
    """The reasons of rejections by their cause. All wrong units are one cause."""
    causes: dict[str, list[ReasonRow]] = {}
    for row in reasons:
        if row["verdict"] in _REJECTING and row["is_final"]:
            causes.setdefault(_WRONG_UNIT if _is_wrong_unit(row) else row["cause"], []).append(row)
    return causes


def _is_wrong_unit(why: Why) -> bool:
    return why["unit_guess"] is not None and why["unit_guess"] != UnitGuess.ZERO


def _main_cause(cause: str, rows: Sequence[ReasonRow], totals: Totals, producers: Sequence[Producer]) -> str:
    share = words.share(sum(row["records"] for row in rows), rejected_records(totals))
    return f"The main cause, {share} of these, from {_senders(cause, rows, totals, producers)}: {cause}."


def _senders(cause: str, rows: Sequence[ReasonRow], totals: Totals, producers: Sequence[Producer]) -> str:
    """The number of producers with that cause, or the name of the only one."""
    if cause == _WRONG_UNIT:
        count, is_exact = totals["producers_with_unit_mistakes"], True
    else:  # a producer may be in several rows
        count, is_exact = max(row["producers"] for row in rows), len(rows) == 1
    if count == 1 and is_exact:
        asked = {_key(row) for row in rows}
        for producer in producers:
            if any(_key(why) in asked for why in producer["reasons"]):
                return _name(producer["client_id"])
    return f"{'' if is_exact else 'at least '}{words.many(count, 'producer')}"


def _key(why: Why) -> tuple[object, ...]:
    return why["verdict"], why["reason"], why["unit_guess"], why["error_code"], why["is_final"], why["cause"]


def _name(client_id: str | None) -> str:
    return words.short(words.client(client_id), _NAME_CHARS)


def details(
    totals: Totals,
    producers: Sequence[Producer],
    reasons: Sequence[ReasonRow],
    trend: Trend | None = None,
    would_reject: Sequence[WouldReject] = (),
) -> list[str]:
    """Up to three sentences: the worst producer, or the next causes if no producer stands out; the good
    records rejected with bad ones; repeated sending. One more for records far behind the clock, one for
    records that were not read, and one for new producers if the days before are known."""
    sentences = [
        _worst_producer(totals, producers) or _next_causes(totals, reasons),
        _collateral(totals),
        _sent_again(totals),
        _broker_only(reasons),
    ]
    first = [sentence for sentence in sentences if sentence][:3]
    return [*first, *_unread(totals), *_limits_unknown(totals), *_far_behind(would_reject), *_new(trend)]


def _unread(totals: Totals) -> list[str]:
    """One sentence about records that were checked by the header of their batch, if there are any."""
    unread = totals.get("records_unread", 0)  # reports of an earlier tsproxy have none
    if not unread:
        return []
    were = "was" if unread == 1 else "were"
    share = words.share(unread, totals["records_judged"])
    return [
        f"{words.many(unread, 'record')} ({share}) {were} checked by the header of the compressed batch "
        "alone (inspect.compressed: adaptive)."
    ]


def _limits_unknown(totals: Totals) -> list[str]:
    """One sentence about records that only brokers judged, if there are any."""
    unknown = totals.get("records_limits_unknown", 0)  # reports of an earlier tsproxy have none
    if not unknown:
        return []
    were = "was" if unknown == 1 else "were"
    return [
        f"{words.many(unknown, 'record')} ({words.share(unknown, totals['records_judged'])}) {were} judged "
        "by brokers alone, since the limits of the topic were not known."
    ]


def _far_behind(would_reject: Sequence[WouldReject]) -> list[str]:
    """One sentence about records far behind the clock: they were not rejected, so no total shows them."""
    found = [row for row in would_reject if words.is_far_behind(row)]
    if not found:
        return []
    worst = max(found, key=lambda row: row["bad_records"])
    records = words.many(sum(row["bad_records"] for row in found), "record")
    return [
        f"{records} far behind the clock were not rejected; most came from "
        f"{_name(worst['client_id'])}: {worst['cause']} ({worst['fix']})."
    ]


def _new(trend: Trend | None) -> list[str]:
    """One sentence about clients that were not rejected in the days before, if there are any."""
    clients = words.new_clients(trend)
    if not clients:
        return []
    named = clients[:_NAMED]
    rest = words.new_count(trend) - len(named)
    more = f" and {words.count(rest)} more" if rest > 0 else ""
    was = "was" if len(named) + rest == 1 else "were"
    names = ", ".join(words.short(name, _NAME_CHARS) for name in named)
    return [f"New: {names}{more} {was} never rejected in the days before."]


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


def _worst_producer(totals: Totals, producers: Sequence[Producer]) -> str:
    if not producers or not producers[0]["reasons"]:
        return ""
    worst, reason = producers[0], producers[0]["reasons"][0]
    if worst["rejected_records"] < _LEAST_SHARE * rejected_records(totals):
        return ""
    part = words.share(worst["rejected_records"], rejected_records(totals))
    is_unit = _is_wrong_unit(reason)
    cause = f"its {reason['cause']} ({reason['fix']})" if is_unit else reason["cause"]
    return f"{_name(worst['client_id'])} accounts for {part} of the rejected records: {cause}."


def _next_causes(totals: Totals, reasons: Sequence[ReasonRow]) -> str:
    """The causes after the main one, each with its share. Wrong units are left out, because the headline
    names them."""
    sums = {cause: sum(row["records"] for row in rows) for cause, rows in _causes(reasons).items()}
    _, *others = sorted(sums, key=lambda cause: -sums[cause]) or [""]
    named = [
        f"{cause} ({words.share(sums[cause], rejected_records(totals))})"
        for cause in others
        if cause != _WRONG_UNIT
    ]
    return f"Then: {'; '.join(named[:_NAMED])}." if named else ""


def _collateral(totals: Totals) -> str:
    collateral, bad = totals["collateral_records"], totals["bad_records"]
    if collateral <= bad:
        return ""
    return (
        f"{words.many(collateral, 'good record')} were rejected with {words.count(bad)} bad ones, "
        "because Kafka rejects whole batches: smaller batches would save most of them."
    )


def _sent_again(totals: Totals) -> str:
    again = sent_again_records(totals)
    if not again:
        return ""
    return (
        f"{words.many(again, 'record')} met an error after which most producers send again. "
        "Records that came again are counted by how that ended; records that were given up are in no total."
    )


def _broker_only(reasons: Sequence[ReasonRow]) -> str:
    records = sum(r["records"] for r in reasons if r["verdict"] == "broker_rejected" and r["is_final"])
    return f"The broker itself rejected {words.many(records, 'record')}." if records else ""
