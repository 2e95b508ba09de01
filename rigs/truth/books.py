"""The four places, and how two of them are compared."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from unittest.mock import patch

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from rigs.truth.outcomes import AGAIN
from spark_reports.commands import daily_run
from tests.e2e.reported import report_on
from tests.kit.admin import internal
from tests.kit.topics import records_of

NUMBERS = {
    ("accepted", True): "records_accepted",
    ("repaired", True): "records_repaired",
    ("rejected", True): "records_rejected",
    ("broker_rejected", True): "records_broker_rejected",
    ("unconfirmed", True): "records_unconfirmed",
    ("rejected", False): "records_rejected_retried",
    ("broker_rejected", False): "records_broker_rejected_retried",
    ("unconfirmed", False): "records_unconfirmed_retried",
}
"""Verdict and `is_final` of the counters -> the number of the report."""


COUNTS = ("records_", "batches_", "bad_", "collateral_")


@dataclass(frozen=True)
class Books:
    """By topic, which is of one row and one client: the same thing as four tell it."""

    told: dict
    """Records that the client was told are stored (True), and that it was told are not (False)."""
    held: dict
    """Records that the topic holds."""
    lines: list
    """The counters of the decision log."""
    report: dict
    """report.json."""
    ids: dict = field(default_factory=dict)
    """The name under which log and report count batches of a topic whose id has no name yet (Produce 13)."""

    def names(self, topic):
        return topic, self.ids.get(topic)

    def records(self, topic, **facts):
        """The records that the log counts for the topic, in lines with these facts."""
        return sum(
            line["records"] for line in self.lines if line["topic"] == topic and facts.items() <= line.items()
        )

    def rejected(self, topic):
        """The records that tsproxy or the broker rejected for good."""
        return sum(
            self.records(topic, verdict=verdict, is_final=True) for verdict in ("rejected", "broker_rejected")
        )

    def said(self, topic):
        """How the log says that batches ended, and by which code."""
        return {
            (line["verdict"] if line["is_final"] else AGAIN, line["error_code"])
            for line in self.lines
            if line["topic"] in self.names(topic)
        }

    def reported(self, topic):
        """The topic's counts in the report."""
        rows = [each for each in self.report["topics"] if each["topic"] in self.names(topic)]
        assert rows, topic
        return {name: sum(each[name] for each in rows) for name in rows[0] if name.startswith(COUNTS)}

    def says_the_same(self, topic):
        """Asserts that the report counts exactly the records that the log counts."""
        counted = self.reported(topic)
        for (verdict, is_final), name in NUMBERS.items():
            assert counted[name] == self.records(topic, verdict=verdict, is_final=is_final), (topic, name)
        assert counted["records_judged"] == self.records(topic, is_final=True), topic


def report_of(log, folder, began_ms, *, days_later=0):
    """report.json of the log, as made now or `days_later`. Needs the fixture `spark`."""

    class Later(daily_run.datetime):
        @classmethod
        def now(cls, zone=None):
            return super().now(zone) + daily_run.timedelta(days=days_later)

    with patch.object(daily_run, "datetime", Later):
        return report_on(log, folder, began_ms, "--format", "json", "--top", "500")


async def ids_of(kafka, topics):
    """Topic -> the name that stands for it while the proxy does not know the name of its id."""
    admin = AdminClient({"bootstrap.servers": internal(kafka)})
    asked = await asyncio.to_thread(admin.describe_topics, TopicCollection(list(topics)))
    return {topic: f"id:{(await asyncio.to_thread(each.result)).topic_id}" for topic, each in asked.items()}


async def stored(kafka, topics):
    """(topic, value, time) -> how often, of all records that consumers see in these topics."""
    records = await records_of(kafka, *topics)
    return Counter((record.topic, record.value, record.timestamp) for record in records)
