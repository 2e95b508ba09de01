"""Texts for the owners of clients: their records, the cause, its fix, and one example. `teams` sends them."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, TypeVar

from spark_reports.report import words
from spark_reports.report.groups import CLIENT, grouped
from spark_reports.report.shape import OwnedClient, Producer, Repaired, Report, WouldReject
from tsproxy.model.policy import CANDIDATE

_LISTED: Final = 10
"""The most topics and rules in the text for one client. report.json holds more."""

_Row = TypeVar("_Row", Repaired, WouldReject)


def by_team(report: Report) -> dict[str | None, list[str]]:
    """One text for each producer of the report, the worst first. Then one for each client whose records a
    rule in audit, or the candidate limits, would have rejected, and for each that a rule repaired."""
    texts = [(row["team"], notice(report, row)) for row in filter(has_owner, report["producers"])]
    texts += [(rows[0]["team"], _warning(report, rows)) for rows in _of_clients(report["would_reject"])]
    texts += [(rows[0]["team"], _repair(report, rows)) for rows in _of_clients(report["repaired"])]
    by_team = grouped(texts, itemgetter(0))
    return {team: [text for _, text in told] for team, told in by_team.items()}


def _of_clients(rows: Sequence[_Row]) -> Iterable[list[_Row]]:
    """The rows of each client and owner: that of a topic has only the rows of its topics."""
    return grouped(filter(has_owner, rows), itemgetter(*CLIENT, "team")).values()


def _repair(report: Report, rows: Sequence[Repaired]) -> str:
    """The text for the owner of records that arrive with other timestamps than it sends."""
    records = words.many(sum(row["bad_records"] for row in rows), "record")
    lines = [
        _to(rows[0]),
        f"On {words.days(report)} (UTC) tsproxy rewrote the timestamps of {records} of yours. Please correct "
        "them where they are made:",
        *[f"* {words.count(row['bad_records'])} by the rule {words.rule(row['rule'])}: {row['cause']}: "
          f"{row['fix']}." for row in rows],
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def has_owner(client: OwnedClient) -> bool:
    """False for the row in which the proxy counted many clients together."""
    return client["client_id"] != words.FOLDED


def notice(report: Report, producer: Producer) -> str:
    """The text for one owner, plain and printable: it may go into a mail, a chat or a ticket."""
    rejected, sent = producer["rejected_records"], producer["records"]
    were = "was" if rejected == 1 else "were"
    lines = [
        _to(producer),
        f"On {words.days(report)} (UTC) {words.many(rejected, 'record')} of yours {were} rejected, "
        f"{words.share(rejected, sent)} of what you sent.{_good_ones(producer['collateral_records'])}",
        *dict.fromkeys(f"* {reason['cause']}: {reason['fix']}." for reason in producer["reasons"]),
        _topics(report, producer),
    ]
    if producer["addresses"]:
        lines.append(f"Sent from {', '.join(words.short(text, 60) for text in producer['addresses'])}.")
    return "\n".join([*lines, *_example(producer)]) + "\n"


def _warning(report: Report, rows: Sequence[WouldReject]) -> str:
    """The text for the owner of records that were forwarded, and would be rejected if the rules were
    enforced."""
    lines = [_to(rows[0])]
    beginning = f"On {words.days(report)} (UTC) these records of yours were forwarded"
    behind, watched = words.far_behind(rows)
    if watched:
        lines.append(
            f"{beginning} and only counted. They would be rejected if the rules below were enforced:"
        )
        lines += _listed(watched)
    if behind:
        lines.append(
            f"{beginning}. They lie so far behind the clock that a mistake is likely. Nothing rejects them; "
            "a topic that deletes by time deletes them at once:"
        )
        lines += _listed(behind)
    return "\n".join(lines) + "\n"


def _listed(rows: Sequence[WouldReject]) -> list[str]:
    rest = rows[_LISTED:]
    records = words.many(sum(map(_told, rest)), "record")
    more = [f"And {words.count(len(rest))} more like this, with {records}."] if rest else []
    return [*map(_counted, rows[:_LISTED]), *more]


def _told(row: WouldReject) -> int:
    """The records in the text: a rule would reject whole batches, and only bad records lie far behind."""
    return row["bad_records" if row["is_far_behind"] else "records"]


def _counted(row: WouldReject) -> str:
    by = f"the rule {words.rule(row['rule'])}"
    if row["rule"] == CANDIDATE:
        by = "the candidate limits (Kafka 4's own, unless others are configured)"
    by = "" if row["is_far_behind"] else f", by {by}{words.waiver(row, ', held back by the waiver ')}"
    records = words.many(_told(row), "record")
    return f"* {records} to {words.short(row['topic'], 60)}{by}: {row['cause']}: {row['fix']}."


def _to(client: OwnedClient) -> str:
    return f"To the owner of {words.producer(client)}:"


def _good_ones(collateral: int) -> str:
    if not collateral:
        return ""
    were = "was" if collateral == 1 else "were"
    return (
        f" {words.count(collateral)} of them {were} good, and rejected with others of the same batch: "
        "Kafka rejects whole batches."
    )


def _topics(report: Report, producer: Producer) -> str:
    """The topics, each with its latest known limits."""
    limits = words.limits_by_topic(report["limits"])
    topics, meaning = [], ""
    for topic in producer["topics"]:
        text = words.short(topic["topic"], 60)
        if known := limits.get(topic["topic"]):
            text, meaning = f"{text} ({known[-1]})", " (oldest / newest allowed)"
        topics.append(text)
    more = producer["topics_count"] - len(topics)
    return f"Topics{meaning}: {', '.join(topics)}{f' and {words.count(more)} more' if more > 0 else ''}."


def _example(producer: Producer) -> list[str]:
    example = next((example for example in producer["examples"] if example["bad_ts"]), None)
    if example is None:
        return []
    return [
        f"For example at {words.instant_words(example['ts'])}, topic {words.short(example['topic'], 60)}, "
        f"partition {example['partition']}: a record carried {example['bad_ts'][0]}"
        f"{words.timestamp(example['bad_ts'][0], example['read_as_ts'])}."
    ]
