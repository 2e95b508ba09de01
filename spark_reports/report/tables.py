"""The tables of a report, from its day (`day`). Plain Python. Nothing is written here.

The size of a table is bounded by `top`, or by the number of hours, reasons, boots and files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import Any, Final

from spark_reports.log import grouping
from spark_reports.log.grouping import Rows
from spark_reports.report import groups, trend
from spark_reports.report.applications import name_of
from spark_reports.report.day import Day
from spark_reports.report.groups import CLIENT, REASON
from spark_reports.report.owners import MAX_CLIENTS, Owners
from spark_reports.report.shape import CLIENTS_PER_TOPIC
from spark_reports.report.trend import ClientDay

TOPICS_PER_CLIENT = 5
EXAMPLES_PER_REASON = 2
INSTANCES_PER_CLIENT: Final = 3
"""The clients of an application that are named."""
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
    client_instances: Rows
    client_reasons: Rows
    """The rows of all `clients`."""
    client_topics: Rows
    """The rows of all `clients`."""
    client_hours: Rows
    client_addresses: Rows
    examples: Rows
    """The rows of `day`, with the names of applications."""
    client_days: Rows
    """The days before with rejections of the worst clients; empty without a rollup."""
    ahead_of_kafka_4: Rows
    """Single clients, not applications."""
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
    """`groups.PRODUCERS` of up to MAX_CLIENTS, with the `team` of each."""
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
    entries = owners.applications if owners else ()
    named = cache(partial(name_of, entries=entries))
    counters, buckets = day.counters.of_applications(named), day.buckets
    asked = (groups.PRODUCERS, groups.WOULD_REJECT, groups.REPAIRED)
    clients, watched, repaired = everybody = [
        [{**row, "team": owners and owners.team_of(row)} for row in counters.table(table, MAX_CLIENTS)]
        for table in asked
    ]
    producers, would_reject, listed_repaired = (grouping.first_of(rows, ("team",), top) for rows in everybody)
    of_all = counters.of_clients(clients)
    of_worst = of_all.of_clients(producers)
    by_topic = counters.of_worst_topics(top)
    topics = by_topic.table(groups.TOPICS)
    topic_clients = by_topic.table(groups.TOPIC_CLIENTS, CLIENTS_PER_TOPIC)
    by_day = trend.of_applications(known or (), entries)
    changes = trend.changes(by_day, day.last)
    return Tables(
        summary=counters.table(groups.SUMMARY)[0],
        topics=topics,
        topic_clients=topic_clients,
        topic_totals=buckets.of_topics(_worst(topic_clients)).table(groups.TOPIC_TOTALS),
        reasons=counters.table(groups.REASONS),
        reason_hours=counters.table(groups.REASON_HOURS),
        producers=producers,
        client_instances=of_worst.table(groups.CLIENT_INSTANCES, INSTANCES_PER_CLIENT),
        client_reasons=of_all.table(groups.CLIENT_REASONS),
        client_topics=of_all.table(groups.CLIENT_TOPICS, TOPICS_PER_CLIENT),
        client_hours=of_worst.table(groups.CLIENT_HOURS),
        client_addresses=_of_applications(day.addresses, named),
        client_days=trend.rejecting(by_day, producers),
        examples=grouping.first_of(
            sorted(_of_applications(day.examples, named), key=itemgetter("ts", "seq"), reverse=True),
            (*CLIENT, *REASON),
            EXAMPLES_PER_REASON,
        ),
        ahead_of_kafka_4=day.counters.table(groups.AHEAD_OF_KAFKA_4),
        drift=buckets.table(groups.DRAWN),
        what_if=buckets.table(groups.TOTALS),
        would_reject=would_reject,
        rules=counters.table(groups.RULES, top),
        repaired=listed_repaired,
        all_repaired=repaired,
        days=trend.days(by_day),
        changes=changes[:top],
        new_producers=sum(row["kind"] == "new" for row in changes),
        clients=clients,
        watched=watched,
        in_force=day.in_force[:top],
        day=day,
    )


def _of_applications(clients: Rows, name_of: Callable[[str | None], str | None]) -> Rows:
    return [{**row, "client_id": name_of(row["client_id"])} for row in clients]


def _worst(topic_clients: Rows) -> list[str]:
    """The topics to compare, by the rejected records of their worst clients."""
    rejected: dict[str, int] = {}
    for row in topic_clients:
        if row["topic"] is not None:
            rejected[row["topic"]] = rejected.get(row["topic"], 0) + row["rejected_records"]
    return sorted(rejected, key=lambda topic: (-rejected[topic], topic))[:TOPICS_COMPARED]
