"""Workers, the proxy and brokers are killed by a seed: the report names what is missing, and no more.

Idempotent producers write to a topic for each outcome all the time, so the truth is known by record. A
process that is killed loses the counts since its last heartbeat, and the report names the process and that
time. So each record whose outcome the proxy knew at another time is counted, and none is counted twice.
"""

import asyncio
import os
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random

import pytest
import pytest_asyncio

from rigs.truth.books import Books, ids_of, lines_of, report_of, stored
from rigs.truth.load import Load
from rigs.truth.outcomes import AGAIN, BROKER_PORTS, HERE, LETTERS, OPEN, TABLE, THERE, config_of
from rigs.truth.victims import VICTIMS, WORKERS, Proxies
from spark_reports.report.words import epoch_ms
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports

FULL = os.environ.get("TSPROXY_TEST") == "full"
SEEDS = [int(seed) for seed in os.environ.get("TSPROXY_TRUTH_SEEDS", "").split()] or range(
    2026, 2032 if FULL else 2027
)
TOLD_BETWEEN = 150
"""The records of which clients are told between two kills."""
LINGER_MS = 5_000
"""How long records that nobody answers may be under way to the proxy."""
LOADS = {
    "fine": "librdkafka",
    "rejected-here": "librdkafka",
    "rejected-there": "librdkafka",
    "dead-letters": "librdkafka",
    "repaired": "librdkafka",
    "waived": "librdkafka",
    "audited": "librdkafka",
    "too-large-batch": "java",
}
"""The rows of the table that are under way all the time, and the client that sends them."""
WITHOUT_ACKS = "without-acks"
FORBIDDEN = ("rejected-here", "rejected-there", "dead-letters")


@dataclass(frozen=True)
class Run:
    """One run with kills: the books, and what else the comparisons need."""

    books: Books
    loads: dict
    """Name of the row -> Load."""
    proxies: Proxies
    silent: set
    """The boots in the log that have no stop line."""
    has_broker: bool
    """Whether a broker was killed, too."""

    def lost(self):
        """The times for which the report says that a process's counts are missing: (from, to) in ms."""
        for boot in self.books.report["log"]["silent"]:
            last_ms = epoch_ms(boot["last_ts"])
            yield epoch_ms(boot["counted_to_ts"]), min(ms for ms in self.proxies.killed_ms if ms >= last_ms)

    def surely(self, load, *, is_stored, later_ms=0):
        """The records with this answer that the report must count: known to the proxy at no lost time."""
        lost = list(self.lost())
        return sum(
            told.is_stored == is_stored
            and all(told.told_ms + later_ms < start or end < told.sent_ms for start, end in lost)
            for told in load.told.values()
        )


async def perform(kafka, folder, seed, victims):
    """Sends all the time, kills one victim after the other, and ends in order."""
    random, log = Random(seed), folder / "log"
    config = folder / "tsproxy.yaml"
    listen = f"127.0.0.1:{free_ports(1 + BROKER_PORTS)[0]}"
    letters, every_second = f"{LETTERS}-{seed}", "decisions: { interval: 1s }"
    config.write_text(config_of(kafka, every_second, listen=listen, letters=letters))
    loads = {
        name: Load(name, TABLE[name], client, str(seed), seed + number)
        for number, (name, client) in enumerate(LOADS.items())
    }
    loads[WITHOUT_ACKS] = Load(WITHOUT_ACKS, TABLE["fine"], "librdkafka", str(seed), seed, has_acks=False)
    topics = {load.topic: load.row.config for load in loads.values()} | {letters: {}}
    await asyncio.gather(*[kafka.create_topic(topic, config=topics[topic]) for topic in topics])
    async with AsyncExitStack() as stack:
        for load in loads.values():
            stack.callback(load.give_up)
        proxies = Proxies(config, log, kafka, stack)
        proxy = await proxies.start()
        sending = [asyncio.create_task(load.run(proxy.bootstrap_servers)) for load in loads.values()]

        def all_were_told_more(before):
            return all(load.times_told > before[name] + TOLD_BETWEEN for name, load in loads.items())

        for victim in [*random.sample(victims, len(victims)), None]:
            before = {name: load.times_told for name, load in loads.items()}
            await until(lambda before=before: all_were_told_more(before), f"records before {victim}")
            await asyncio.sleep(random.random())  # so that a kill comes at any time of an interval
            if victim is not None:
                await proxies.kill(victim, random)
        for load in loads.values():
            load.end()
        await asyncio.gather(*sending)
        await proxies.stop()
    return loads, proxies, await stored(kafka, topics), await ids_of(kafka, topics)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mortal_broker():
    """A broker of this module's own, that may be killed; None in the short form."""
    if not FULL:
        yield None
        return
    async with KafkaCluster() as kafka:
        yield kafka


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=SEEDS)
async def run(request, kafka_440, mortal_broker, spark, tmp_path_factory):
    """In the short form there is one seed, and the broker of other tests lives on."""
    folder, began_ms = tmp_path_factory.mktemp("kills"), Clock().now_ms()
    victims = (*VICTIMS, "broker") * 2 if mortal_broker else VICTIMS
    loads, proxies, found, ids = await perform(mortal_broker or kafka_440, folder, request.param, victims)
    lines = lines_of(folder / "log")
    stopped = {line["boot"] for line in lines if line.get("kind") == "stop"}
    held = {topic: Counter() for topic in ids}
    for (topic, value, _), times in found.items():
        held[topic][value] += times
    told = {load.topic: Counter(each.is_stored for each in load.told.values()) for load in loads.values()}
    report = report_of(folder / "log", folder, began_ms, days_later=2)
    books = Books(told, held, [line for line in lines if line["event"] == "counters"], report, ids)
    return Run(books, loads, proxies, {line["boot"] for line in lines} - stopped, mortal_broker is not None)


pytestmark = pytest.mark.timeout(1_800)
WITH_ACKS = pytest.mark.parametrize("row", LOADS)


def test_the_killed_processes_are_named_and_no_other(run):
    log = run.books.report["log"]
    assert {boot["boot"] for boot in log["silent"]} == run.silent
    assert len(run.silent) == run.proxies.processes_killed >= 1 + WORKERS
    assert log["state"] == "incomplete"
    assert "stopped reporting" in log["sentence"]
    assert (log["lost_lines"], log["lines_unusable"], log["missing_intervals"]) == (0, 0, 0)


def test_the_report_counts_what_the_log_counts(run):
    for load in run.loads.values():
        run.books.says_the_same(load.topic)


@WITH_ACKS
def test_acknowledged_records_are_stored_once_and_no_others(run, row):
    load = run.loads[row]
    assert load.told.keys() == load.sent.keys()
    assert run.books.held[load.topic] == dict.fromkeys(acknowledged(load), 1)


def acknowledged(load):
    return [value for value, told in load.told.items() if told.is_stored]


@pytest.mark.parametrize("row", FORBIDDEN)
def test_forbidden_records_are_never_stored_and_never_acknowledged(run, row):
    load = run.loads[row]
    forbidden = {value for value, is_about in load.sent.items() if is_about}
    assert forbidden
    assert not forbidden & run.books.held[load.topic].keys()
    assert not forbidden & set(acknowledged(load))


@WITH_ACKS
def test_counts_are_those_of_the_clients_but_for_the_times_that_the_report_names(run, row):
    load, books = run.loads[row], run.books
    taken = sum(books.records(load.topic, verdict=verdict) for verdict in ("accepted", "repaired"))
    assert run.surely(load, is_stored=True) <= taken <= books.told[load.topic][True]
    rejected = books.rejected(load.topic)
    assert run.surely(load, is_stored=False) <= rejected <= books.told[load.topic][False]
    assert run.surely(load, is_stored=True) + run.surely(load, is_stored=False) > 0


def test_the_kills_did_lose_counts(run):
    """Otherwise the comparisons would hold for a report that names no loss."""
    counted = sum(
        run.books.records(run.loads[row].topic, verdict=verdict, is_final=True)
        for row in LOADS
        for verdict in ("accepted", "repaired", "rejected", "broker_rejected")
    )
    assert 0 < counted < sum(run.loads[row].times_told for row in LOADS)


@WITH_ACKS
def test_the_log_says_by_which_code(run, row):
    """After a kill, or on a busy machine, a broker may answer with further codes, such as 45 or 6.

    Then clients send again. Only an answer that is lost with its broker is unconfirmed.
    """
    load = run.loads[row]
    said, expected = run.books.said(load.topic), TABLE[row].said_of(load.client)
    if row == "dead-letters":
        expected = expected | {("accepted", 0)}  # a batch of one good record
    assert said >= expected
    more = {how for how, _ in said - expected}
    assert more <= ({AGAIN, OPEN} if run.has_broker else {AGAIN})


def test_without_acks_nobody_is_told_and_each_record_that_was_forwarded_is_unconfirmed(run):
    load, books = run.loads[WITHOUT_ACKS], run.books
    assert set(books.held[load.topic].values()) == {1}
    assert books.held[load.topic].keys() <= load.sent.keys()
    assert books.said(load.topic) == {(OPEN, 0)}
    unconfirmed = books.records(load.topic)
    assert run.surely(load, is_stored=True, later_ms=LINGER_MS) <= unconfirmed <= len(load.sent)


def test_dead_letters_are_culprits(run):
    load = run.loads["dead-letters"]
    [letters] = [held.keys() for topic, held in run.books.held.items() if topic.startswith(LETTERS)]
    assert letters
    assert {load.sent[value] for value in letters} == {True}


@pytest.mark.parametrize("row", [name for name in LOADS if TABLE[name].would_reject])
def test_records_that_a_waiver_or_the_audit_let_pass_are_listed(run, row):
    topic = run.loads[row].topic
    _, waiver = TABLE[row].would_reject
    [listed] = [each for each in run.books.report["would_reject"] if each["topic"] == topic]
    assert listed["waiver"] == waiver
    assert listed["records"] == run.books.records(topic, would_reject=True, is_final=True)


def test_a_rejection_is_of_the_one_that_rejected(run):
    books = run.books
    for row, how, other in (("rejected-here", HERE, THERE), ("rejected-there", THERE, HERE)):
        topic = run.loads[row].topic
        assert books.records(topic, verdict=how) > 0
        assert books.records(topic, verdict=other) == 0
