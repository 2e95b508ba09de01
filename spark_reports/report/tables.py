"""The tables of a report, from its day (`day`). Plain Python. Nothing is written here.

The size of a table is bounded by `top`, or by the number of hours, reasons, boots and files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spark_reports.log.grouping import Rows
from spark_reports.report import groups, trend
from spark_reports.report.day import Day
from spark_reports.report.owners import MAX_CLIENTS, Owners
from spark_reports.report.shape import CLIENTS_PER_TOPIC
from spark_reports.report.trend import ClientDay

TOPICS_PER_CLIENT = 5
TOPICS_COMPARED = 50
"""The number of topics whose drift is collected: the topics with most rejected records."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of `groups` and `transforms` of the same names; rows as dicts."""

    summary: dict[str, Any]
    topics: Rows
    topic_clients: Rows
    topic_totals: Rows
    reasons: Rows
    reason_hours: Rows
    producers: Rows
    client_reasons: Rows
    """The rows of all `clients`."""
    client_topics: Rows
    """The rows of all `clients`."""
    client_hours: Rows
    client_days: Rows
    """The days before with rejections of the worst clients; empty without a rollup."""
    drift: Rows
    what_if: Rows
    would_reject: Rows
    rules: Rows
    repaired: Rows
    days: Rows
    """`trend.days`; empty without a rollup."""
    changes: Rows
    new_producers: int
    """The changes that are `new`, also those that `changes` leaves out."""
    clients: Rows
    """`groups.PRODUCERS` of up to MAX_CLIENTS."""
    watched: Rows
    """`groups.WOULD_REJECT`, as many."""
    all_repaired: Rows
    """`groups.REPAIRED`, as many."""
    in_force: Rows
    day: Day
    """For the rows that a report shows as they are."""


def collect(
    day: Day, top: int, known: Sequence[ClientDay] | None = None, owners: Owners | None = None
) -> Tables:
    """Compute every table of the period.

    `known`: `rollup.known` of the period and the days before it; None if there is no rollup. Clients
    and what would be rejected are the worst `top` of each team of `owners`, so no team's hide another's.
    """
    counters, buckets = day.counters, day.buckets
    asked = (groups.PRODUCERS, groups.WOULD_REJECT, groups.REPAIRED)
    clients, watched, repaired = everybody = [counters.table(each, MAX_CLIENTS) for each in asked]
    producers, would_reject, listed_repaired = (
        rows[:top] if owners is None else owners.first_of_each(rows, top) for rows in everybody
    )
    of_all = counters.of_clients(clients)
    by_topic = counters.of_worst_topics(top)
    topics = by_topic.table(groups.TOPICS)
    topic_clients = by_topic.table(groups.TOPIC_CLIENTS, CLIENTS_PER_TOPIC)
    changes = trend.changes(known or (), day.last)
    return Tables(
        summary=counters.table(groups.SUMMARY)[0],
        topics=topics,
        topic_clients=topic_clients,
        topic_totals=buckets.of_topics(_worst(topic_clients)).table(groups.TOPIC_TOTALS),
        reasons=counters.table(groups.REASONS),
        reason_hours=counters.table(groups.REASON_HOURS),
        producers=producers,
        client_reasons=of_all.table(groups.CLIENT_REASONS),
        client_topics=of_all.table(groups.CLIENT_TOPICS, TOPICS_PER_CLIENT),
        client_hours=of_all.of_clients(producers).table(groups.CLIENT_HOURS),
        client_days=trend.rejecting(known or (), producers),
        drift=buckets.table(groups.DRAWN),
        what_if=buckets.table(groups.TOTALS),
        would_reject=would_reject,
        rules=counters.table(groups.RULES, top),
        repaired=listed_repaired,
        all_repaired=repaired,
        days=trend.days(known or ()),
        changes=changes[:top],
        new_producers=sum(row["kind"] == "new" for row in changes),
        clients=clients,
        watched=watched,
        in_force=day.in_force[:top],
        day=day,
    )


def _worst(topic_clients: Rows) -> list[str]:
    """The topics to compare, by the rejected records of their worst clients."""
    rejected: dict[str, int] = {}
    for row in topic_clients:
        if row["topic"] is not None:
            rejected[row["topic"]] = rejected.get(row["topic"], 0) + row["rejected_records"]
    return sorted(rejected, key=lambda topic: (-rejected[topic], topic))[:TOPICS_COMPARED]
