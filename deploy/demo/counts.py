"""Counts of the records in four places, by topic and client id.

The four readers share nothing: the clients' receipts, a consumer that does not use the proxy, the
lines of the decision log, and the report's own report.json.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from deploy.demo.producers import Receipt
from deploy.demo.proof import Booked, ClientResults, Place, Rejections, Reported

_PATIENCE_S: Final = 120
_POLL_MS: Final = 500


class IncompleteLogError(Exception):
    """The proxy has stopped, but its decision log is not complete."""


def results_of_clients(receipts: Iterable[Receipt]) -> dict[Place, ClientResults]:
    """The clients' results, by topic. Culprits follow from the data and the producer's mistake alone."""
    results: dict[Place, ClientResults] = {}
    for receipt in receipts:
        share = receipt.share
        for topic in dict.fromkeys(message.topic for message in share.messages):
            own = [message for message in share.messages if message.topic == topic]
            results[topic.name, share.producer.client_id] = ClientResults(
                sent=len(own),
                acknowledged=frozenset(share.key(m) for m in own if m.number in receipt.acknowledged),
                rejected=frozenset(share.key(m) for m in own if m.number in receipt.rejected),
                culprits=frozenset(share.key(m) for m in own if share.is_culprit(m)),
            )
    return results


async def keys_in_log(
    bootstrap_servers: str, topics: Sequence[str], partitions: int
) -> dict[Place, Counter[bytes]]:
    """The number of records with each key in the topics. It reads every record.

    Raises TimeoutError if the broker does not serve them all.
    """
    wanted = [TopicPartition(topic, partition) for topic in topics for partition in range(partitions)]
    keys: defaultdict[Place, Counter[bytes]] = defaultdict(Counter)
    async with (
        asyncio.timeout(_PATIENCE_S),
        AIOKafkaConsumer(
            bootstrap_servers=bootstrap_servers, enable_auto_commit=False, auto_offset_reset="earliest"
        ) as consumer,
    ):
        consumer.assign(wanted)
        ends = await consumer.end_offsets(wanted)
        while any([await consumer.position(partition) < end for partition, end in ends.items()]):
            for partition, records in (await consumer.getmany(timeout_ms=_POLL_MS)).items():
                for record in records:
                    client_id = record.key.partition(b"/")[0].decode()
                    keys[partition.topic, client_id][record.key] += 1
    return dict(keys)


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """The contents of a decision log: the UTC days of its lines, and the sums of its counters."""

    days: Sequence[str]
    booked: Mapping[Place, Booked]


def read_decision_log(folder: Path) -> DecisionLog:
    """All files of a closed log. Raises IncompleteLogError if one is not closed."""
    still_open = [path.name for path in folder.glob("*.open")]
    if still_open:
        raise IncompleteLogError(f"the decision log was not closed: {', '.join(still_open)}")
    days = set()
    booked: defaultdict[Place, Booked] = defaultdict(Booked)
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            days.add(event["ts"][:10])
            if event["event"] == "counters":
                booked[event["topic"], event.get("client_id", "")] += _booked(event)
    return DecisionLog(sorted(days), dict(booked))


def _booked(counters: Mapping[str, Any]) -> Booked:
    """The counts of one `counters` line. A repetition counts only as a repetition."""
    if not counters["is_final"]:
        return Booked(resent=counters["records"])
    ended = Booked(**{counters["verdict"]: counters["records"]})
    return ended + Booked(culprits=counters["bad_records"], collateral=counters["collateral_records"])


def read_reports(paths: Iterable[Path]) -> Reported:
    """The sums over the report.json of each day."""
    totals = Booked()
    topics: defaultdict[str, Booked] = defaultdict(Booked)
    clients: defaultdict[str, Rejections] = defaultdict(Rejections)
    for path in paths:
        report = json.loads(path.read_text())
        totals += _reported(report["totals"])
        for topic in report["topics"]:
            topics[topic["topic"]] += _reported(topic)
        for producer in report["producers"]:
            clients[producer["client_id"]] += Rejections(
                producer["rejected_records"], producer["bad_records"], producer["collateral_records"]
            )
    return Reported(totals, dict(topics), dict(clients))


def _reported(counts: Mapping[str, Any]) -> Booked:
    return Booked(
        accepted=counts["records_accepted"],
        rejected=counts["records_rejected"],
        broker_rejected=counts["records_broker_rejected"],
        unconfirmed=counts["records_unconfirmed"],
        resent=sum(count for name, count in counts.items() if name.endswith("_retried")),
        culprits=counts["bad_records"],
        collateral=counts["collateral_records"],
    )
