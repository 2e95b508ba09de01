"""The headline of the report and the few sentences after it."""

from collections.abc import Sequence

from spark_reports.report import words
from spark_reports.report.shape import Producer, ReasonRow, Totals, Trend, WouldReject
from tsproxy.model.verdict import UnitGuess

_DOMINANT = 0.5
"""A producer with this share of all rejections is the headline."""
_NAMED = 3


def headline(totals: Totals, producers: Sequence[Producer], *, is_complete: bool = True) -> str:
    """One sentence about the most important fact of the period. Only a complete log proves that nothing
    happened."""
    judged, rejected = totals["records_judged"], rejected_records(totals)
    if judged == 0 and not is_complete:
        return "No record could be read from the log, which is incomplete."
    if judged == 0:
        return "No records came through the proxy."
    if rejected == 0:
        return (
            "The one record was not rejected." if judged == 1 else f"None of {judged:,} records was rejected."
        )
    part = f"{words.share(rejected, judged)} of {words.many(judged, 'record')} were rejected"
    if mistaken := totals["producers_with_unit_mistakes"]:
        send = f"{words.many(mistaken, 'producer')} {'sends' if mistaken == 1 else 'send'}"
        return f"{send} the wrong time unit; {part}."
    worst = producers[0] if producers else None
    if worst is not None and worst["rejected_records"] >= _DOMINANT * rejected:
        return (
            f"{words.client(worst['client_id'])} causes {words.share(worst['rejected_records'], rejected)} "
            f"of {words.many(rejected, 'rejected record')}."
        )
    return f"{part}, from {words.many(totals['producers_affected'], 'producer')}."


def details(
    totals: Totals,
    producers: Sequence[Producer],
    reasons: Sequence[ReasonRow],
    trend: Trend | None = None,
    would_reject: Sequence[WouldReject] = (),
) -> list[str]:
    """Up to three sentences: the worst producer, the collateral, repeated sending. One more for records far
    behind the clock, and one for new producers if the days before are known."""
    sentences = [
        _worst_producer(totals, producers),
        _collateral(totals),
        _sent_again(totals),
        _broker_only(reasons),
    ]
    return [*[sentence for sentence in sentences if sentence][:3], *_far_behind(would_reject), *_new(trend)]


def _far_behind(would_reject: Sequence[WouldReject]) -> list[str]:
    """One sentence about records far behind the clock: they were not rejected, so no total shows them."""
    found = [row for row in would_reject if words.is_far_behind(row)]
    if not found:
        return []
    worst = max(found, key=lambda row: row["bad_records"])
    records = words.many(sum(row["bad_records"] for row in found), "record")
    return [
        f"{records} far behind the clock were not rejected; most came from "
        f"{words.short(words.client(worst['client_id']), 60)}: {worst['cause']} ({worst['fix']})."
    ]


def _new(trend: Trend | None) -> list[str]:
    """One sentence about clients that were not rejected in the days before, if there are any."""
    clients = words.new_clients(trend)
    if not clients:
        return []
    more = f" and {words.count(len(clients) - _NAMED)} more" if len(clients) > _NAMED else ""
    was = "was" if len(clients) == 1 else "were"
    names = ", ".join(words.short(name, 60) for name in clients[:_NAMED])
    return [f"New: {names}{more} {was} never rejected in the days before."]


def rejected_records(totals: Totals) -> int:
    """Records that the proxy or the broker rejected for good."""
    return totals["records_rejected"] + totals["records_broker_rejected"]


def _worst_producer(totals: Totals, producers: Sequence[Producer]) -> str:
    if not producers or not producers[0]["reasons"]:
        return ""
    worst, reason = producers[0], producers[0]["reasons"][0]
    part = words.share(worst["rejected_records"], rejected_records(totals))
    name = words.client(worst["client_id"])
    is_unit = reason["unit_guess"] is not None and reason["unit_guess"] != UnitGuess.ZERO
    cause = f"its {reason['cause']} ({reason['fix']})" if is_unit else reason["cause"]
    return f"{name} accounts for {part} of the rejected records: {cause}."


def _collateral(totals: Totals) -> str:
    collateral, bad = totals["collateral_records"], totals["bad_records"]
    if collateral <= bad:
        return ""
    return (
        f"{words.many(collateral, 'good record')} were rejected with {words.count(bad)} bad ones, "
        "because Kafka rejects whole batches: smaller batches would save most of them."
    )


def _sent_again(totals: Totals) -> str:
    again = totals["records_broker_rejected_retried"]
    if not again:
        return ""
    return (
        f"{words.many(again, 'record')} met an error after which producers send again by themselves; "
        "they are counted by how that ended."
    )


def _broker_only(reasons: Sequence[ReasonRow]) -> str:
    records = sum(r["records"] for r in reasons if r["verdict"] == "broker_rejected" and r["is_final"])
    return f"The broker itself rejected {words.many(records, 'record')}." if records else ""
