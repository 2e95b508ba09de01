"""The sections of clients whose records were not rejected: counted by rules in audit, far behind the clock,
repaired. The page of the day has those of all, the page of a team its own."""

from collections.abc import Sequence

from spark_reports.render import parts
from spark_reports.report import words
from spark_reports.report.shape import RefusedClient, Repaired, Team, Totals, WouldReject
from tsproxy.model.markup import Markup


def sections(
    counts: Totals | Team,
    would_reject: Sequence[WouldReject],
    repaired: Sequence[Repaired],
    repaired_records: int,
    rows: int,
    *,
    is_closed: bool = False,
) -> parts.Parts:
    """The sections of all, or of a team. Each is left out without rows."""
    behind, watched = words.far_behind(would_reject)
    records, producers = counts["would_reject_records"], counts["would_reject_producers"]
    would = f"What rules in audit would reject: {how_many(records, producers)}"
    far = f"Far behind the clock: {words.many(counts['far_behind_records'], 'record')}"
    rewritten = f"Repaired: {how_many(repaired_records, counts['repaired_producers'])}"
    return [
        parts.section("watched", would, _watched(watched[:rows], records, producers), is_closed=is_closed),
        parts.section(
            "behind", far, _behind(behind[:rows], counts["far_behind_records"]), is_closed=is_closed
        ),
        parts.section(
            "repaired", rewritten, _repaired(repaired[:rows], repaired_records), is_closed=is_closed
        ),
    ]


def how_many(records: int, producers: int) -> str:
    """`102,000 records of 2 producers`; `nothing`."""
    if not records:
        return "nothing"
    return f"{words.many(records, 'record')} of {words.many(producers, 'producer')}"


def _watched(shown: Sequence[WouldReject], records: int, producers: int) -> parts.Parts:
    """The records that rules in audit and the candidate limits would have rejected, and a sentence about
    those that are left out of `records` and `producers`."""
    left = records - sum(row["records"] for row in shown)
    others = producers - len(words.clients(shown))
    of_others = f", {words.many(others, 'more producer')}" if others > 0 else ""
    return [_would_reject(shown), parts.more(left, "record", f"{of_others}, not listed")]


def _behind(shown: Sequence[WouldReject], records: int) -> parts.Parts:
    """Likely mistakes that no rule rejects, and a sentence about the bad records that are left out of
    `records`."""
    rest = parts.more(records - sum(row["bad_records"] for row in shown), "bad record", ", not listed")
    return [parts.paragraph(words.FAR_BEHIND, "soft") if records else None, _would_reject(shown), rest]


def _would_reject(shown: Sequence[WouldReject]) -> Markup | None:
    rows = [
        (
            parts.text(words.application(row), "client"),
            parts.text(words.short(row["topic"], 60), "name"),
            (parts.text(words.rule(row["rule"]), "name"), parts.below(waiver) if waiver else None),
            parts.mistake(row["cause"], row["fix"]),
            *(row["batches"], row["records"], row["bad_records"]),
        )
        for row, waiver in ((row, words.waiver(row, "waiver ")) for row in shown)
    ]
    return parts.table(
        "watched", ("Producer", "Topic", "Rule", "Cause", "#Batches", "#Records", "#Bad"), rows
    )


def _repaired(shown: Sequence[Repaired], records: int) -> parts.Parts:
    """Clients of which a rule corrects the timestamps, and a sentence about those that are left out of
    `records`. Their owners should do so at the producer."""
    rows = [
        (
            parts.text(words.application(row), "client"),
            parts.text(words.rule(row["rule"]), "name"),
            parts.mistake(row["cause"], row["fix"]),
            row["first_ts"][11:16],
            *(row["topics"], row["records"], row["bad_records"]),
        )
        for row in shown
    ]
    heads = ("Producer", "Rule", "Cause", "Since", "#Topics", "#Records", "#Rewritten")
    rest = parts.more(records - sum(row["records"] for row in shown), "record", ", not listed")
    return [parts.table("watched", heads, rows), rest]


def refused_by_kafka_4(clients: Sequence[RefusedClient], rows: int) -> parts.Parts:
    """The clients that Kafka 4 refuses, whatever their records are."""
    if not clients:
        return []
    text = "Kafka 4 does not take these versions of the protocol (KIP-896): update the client's library."
    uses = parts.bullets([words.old_use(row) for row in clients[:rows]])
    return [parts.paragraph(text, "soft"), uses, parts.more(len(clients) - rows)]
