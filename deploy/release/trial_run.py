"""Runs in the environment that is tested, with nothing of the checkout on its path.

The installed proxy runs in front of a real broker. A good and a bad record are sent through it, and the
installed `spark_reports` makes the report on them. The program prints all counts as JSON.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

TOPIC = "orders"
LIMITS = {"message.timestamp.before.max.ms": "86400000"}


async def proxied(folder: Path) -> dict[str, Any]:
    """Counts of the producer's answers and of the records in Kafka's log. The decision log is then in
    `folder`."""
    told = {"accepted": 0, "rejected": 0}
    async with KafkaCluster() as kafka:
        await kafka.create_topic(TOPIC, config=LIMITS)
        async with (
            RunningProxy(kafka.bootstrap_servers, decisions=folder) as proxy,
            AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, acks="all") as producer,
        ):
            for facts in ({}, {"timestamp_ms": 1}):
                try:
                    await producer.send_and_wait(TOPIC, b"value", **facts)
                    told["accepted"] += 1
                except InvalidTimestampError:
                    told["rejected"] += 1
        stored = sum((await kafka.end_offsets(TOPIC)).values())
    return {**told, "stored": stored}


def reported(decisions: Path, output: Path) -> list[int]:
    """The numbers of the report's records: of all, and of the rejected ones."""
    lines = [json.loads(line) for file in decisions.glob("*.jsonl") for line in file.read_text().splitlines()]
    day = max(line["ts"] for line in lines)[:10]
    command = (Path(sys.executable).with_name("spark_reports"), "daily", "--date", day)
    subprocess.run(
        [*command, "--input", decisions, "--output", output], check=True, stdout=subprocess.DEVNULL
    )
    totals = json.loads((output / "report.json").read_text())["totals"]
    return [totals["records_judged"], totals["records_rejected"]]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tsproxy-trial-") as folder:
        decisions = Path(folder) / "decisions"
        told = asyncio.run(proxied(decisions))
        told["reported"] = reported(decisions, Path(folder) / "report")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
