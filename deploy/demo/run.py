"""The steps of the demo in order: start, send, stop, report, count, compare."""

import asyncio
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.demo import counts, plan, processes, proof
from deploy.demo.data import read_events
from deploy.demo.plan import Share
from deploy.demo.producers import Receipt, deliver
from tsproxy.testing.kafka_cluster import KafkaCluster

_TICK_S: Final = 2
_STARTED_S: Final = time.monotonic()


@dataclass(frozen=True, slots=True)
class Output:
    """The files that a run makes."""

    folder: Path

    @property
    def decisions(self) -> Path:
        return self.folder / "decisions"

    @property
    def reports(self) -> Path:
        return self.folder / "report"

    @property
    def proxy_log(self) -> Path:
        return self.folder / "tsproxy.log"

    def clear(self) -> None:
        """Removes the decision log and the reports of an earlier run, and nothing else."""
        for old in (self.decisions, self.reports):
            shutil.rmtree(old, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)


_NEXT: Final = """
Next: open the report in a browser. docs/guide/demo.md explains the table above.
docs/guide/tutorial.md goes step by step.
In front of your own cluster, this rejects nothing:
    tsproxy run --upstream HOST:9092 --listen 127.0.0.1:9192 --set policy.mode=audit"""


async def run(output: Output, every: int) -> bool:
    """Runs the whole demo with every `every`-th event. True if all counts agree."""
    output.clear()
    shares = plan.shares(read_events(every))
    async with processes.commands() as commands:
        receipts, stored = await _send_and_read_back(commands, shares, output)
        log = counts.read_decision_log(output.decisions)
        reports = [output.reports / day for day in log.days]  # two days, if midnight was during the run
        for folder in reports:
            say(processes.shown(processes.report_command(folder.name, output.decisions, folder)))
            await commands.daily_report(folder.name, output.decisions, folder)
    results = counts.results_of_clients(receipts)
    lines = proof.lines(results, stored, log.booked)
    reported = counts.read_reports(folder / "report.json" for folder in reports)
    found = proof.differences(lines, reported)
    _print_rejections(receipts)
    print(f"\nThe same records, counted in four places:\n\n{proof.table(lines, reported)}\n")
    print(proof.conclusion(lines, found))
    for folder in reports:
        print(f"The report: {folder / 'report.html'}")
    print(_NEXT)
    return not found


async def _send_and_read_back(
    commands: processes.Commands, shares: Sequence[Share], output: Output
) -> tuple[list[Receipt], Mapping[proof.Place, Mapping[bytes, int]]]:
    """The clients' results, and then the contents of the broker's log."""
    say("starting Apache Kafka")
    async with KafkaCluster() as kafka:
        say(f"Apache Kafka {kafka.version} serves at {kafka.bootstrap_servers}")
        for topic in plan.TOPICS:
            await kafka.create_topic(topic.name, plan.PARTITIONS, config=topic.config)
        async with commands.proxy(kafka.bootstrap_servers, output.decisions, output.proxy_log) as address:
            say(processes.shown(processes.proxy_command(kafka.bootstrap_servers, address, output.decisions)))
            receipts = await _send(shares, address)
        say("tsproxy has stopped; reading Kafka's log without it")
        names = [topic.name for topic in plan.TOPICS]
        return receipts, await counts.keys_in_log(kafka.bootstrap_servers, names, plan.PARTITIONS)


async def _send(shares: Sequence[Share], address: str) -> list[Receipt]:
    """Runs all producers at the same time, through the proxy at `address`."""
    receipts = [Receipt(share) for share in shares]
    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(_tick(receipts))
        await asyncio.wait([group.create_task(_deliver(receipt, address)) for receipt in receipts])
        ticking.cancel()
    return receipts


async def _deliver(receipt: Receipt, address: str) -> None:
    await deliver(receipt, address)
    producer = receipt.share.producer
    say(
        f"{producer.client_id} ({producer.family}, {producer.batching}): {receipt.handed_over:,} sent, "
        f"{len(receipt.acknowledged):,} acknowledged, {len(receipt.rejected):,} rejected"
    )


async def _tick(receipts: Sequence[Receipt]) -> None:
    in_all = sum(len(receipt.share.messages) for receipt in receipts)
    while True:
        await asyncio.sleep(_TICK_S)
        say(f"{sum(receipt.handed_over for receipt in receipts):,} of {in_all:,} records handed over")


def _print_rejections(receipts: Sequence[Receipt]) -> None:
    print("\nWhat the applications were told of rejected records:\n")
    for receipt in receipts:
        if receipt.rejected:
            names = Counter(receipt.rejected.values()).most_common()
            text = ", ".join(f"{name} {count:,}" for name, count in names)
            print(f"  {receipt.share.producer.client_id:<24}{text}")


def say(text: str) -> None:
    """Prints progress to standard error, with the seconds since the start."""
    print(f"[{time.monotonic() - _STARTED_S:5.1f} s] {text}", file=sys.stderr, flush=True)
