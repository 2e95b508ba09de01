"""`tsproxy capacity`: two scrapes of a real proxy, and what follows from them."""

import asyncio
from dataclasses import replace

import pytest
from aiokafka import AIOKafkaProducer

from tests.offline.commands import tsproxy
from tests.offline.documented import CAPACITY, example, words
from tests.proxy.running import one_process, series
from tsproxy.offline.capacity import NoEstimateError, Reading, measured, need, read_metrics
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

MB = 1_000_000
VALUE_BYTES = 10_000
LITTLE = """\
A worker was busy for 1.0% of the time. With so little to do it
needs more CPU a MB than under load, so the estimate is too high.
"""
FIRST = Reading(
    at_ms=1_000,
    started_s=5.0,
    cpu_s=2.0,
    from_clients=10 * MB,
    from_brokers=20 * MB,
    records=100,
    connections=7,
    workers=2,
    memory_bytes=100 << 20,
)
LAST = replace(
    FIRST,
    at_ms=61_000,
    cpu_s=8.0,
    from_clients=1_510 * MB,
    from_brokers=1_520 * MB,
    records=60_100,
    connections=9,
    memory_bytes=120 << 20,
)


def test_an_estimate_is_the_cpu_of_the_measured_traffic_in_proportion():
    """6 s of CPU for 3,000 MB are 2 ms a MB: 1,000 MB a second take 2 cores, and 4 half busy workers."""
    found = measured(FIRST, LAST)
    assert (found.from_clients_mb_s, found.from_brokers_mb_s, found.mb_s) == (25, 25, 50)
    assert (found.records_s, found.connections, found.memory_mib) == (1_000, 9, 120)
    assert (found.cores, found.cpu_ms_a_mb) == (0.1, 2)
    assert not found.has_little_to_do
    assert need(found, 1_000, 0.5).cores == 2
    assert need(found, 1_000, 0.5).workers == 4
    assert need(found, 1_001, 0.5).workers == 5
    assert need(found, 1, 0.5).workers == 1


def test_a_proxy_that_has_little_to_do_says_so():
    assert measured(FIRST, replace(LAST, cpu_s=FIRST.cpu_s + 5.9)).has_little_to_do
    assert not measured(FIRST, replace(LAST, cpu_s=FIRST.cpu_s + 6.1)).has_little_to_do


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (replace(LAST, started_s=6.0), "was started again"),
        (
            replace(LAST, from_clients=FIRST.from_clients, from_brokers=FIRST.from_brokers),
            "no traffic in 60 s",
        ),
    ],
)
def test_without_a_proxy_that_carries_traffic_all_the_time_there_is_no_estimate(last, why):
    with pytest.raises(NoEstimateError, match=why):
        measured(FIRST, last)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("node_load1 0.5\n", "not the metrics of tsproxy"),
        ("<html>", "not the metrics of tsproxy"),
        ('tsproxy_bytes_total{direction="from_client"} 5\n', "does not know its CPU"),
    ],
)
def test_what_is_no_scrape_of_a_proxy_on_linux_is_an_error(text, why):
    with pytest.raises(NoEstimateError, match=why):
        read_metrics(text, 0)


async def test_a_proxy_that_does_not_listen_is_an_error(capsys):
    [port] = free_ports(1)
    result = await tsproxy(capsys, "capacity", "--admin", f"127.0.0.1:{port}", "--over", "1ms")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"tsproxy: no metrics from 127.0.0.1:{port}: ")


async def test_a_token_that_no_header_can_carry_is_an_error(capsys, monkeypatch):
    monkeypatch.setenv("TSPROXY_ADMIN_TOKEN", "two words")
    result = await tsproxy(capsys, "capacity", "--over", "1ms")
    assert result.status == 1
    assert "TSPROXY_ADMIN_TOKEN must be printable ASCII without blanks" in result.err
    assert "two words" not in result.err


@one_process("test_workers.py shows that the metrics of workers add up")
async def test_it_tells_what_a_real_proxy_carried_and_used(kafka_431, topic, capsys, arguments):
    """A producer sends all the time. The tool's counts lie between those of two scrapes around it; a record
    that is on its way at either scrape may be missing in one of its figures."""
    await kafka_431.create_topic(topic)
    async with RunningProxy(kafka_431.bootstrap_servers, arguments=arguments) as proxy:
        over = asyncio.Event()
        before = await series(proxy)
        async with asyncio.TaskGroup() as group:
            group.create_task(produce_until(over, proxy, topic))
            result = await tsproxy(
                capsys,
                "capacity",
                "--admin",
                proxy.admin_address,
                "--over",
                "2s",
                "--traffic",
                "50",
                "--json",
            )
            over.set()
        after = await series(proxy)
    assert (result.status, result.err) == (0, "")
    found, [need] = result.json["measured"], result.json["needs"]

    def grown(name):
        return after[name] - before.get(name, 0)

    seconds = found["seconds"]
    records = round(found["records_s"] * seconds)  # these are counts, so a fraction is an error of floats
    sent = round(found["from_clients_mb_s"] * seconds * MB)
    accepted = 'tsproxy_records_total{listener="default",reason="",verdict="accepted"}'
    assert seconds >= 2
    assert 1 < records <= grown(accepted)
    assert (records - 1) * VALUE_BYTES < sent <= grown('tsproxy_bytes_total{direction="from_client"}')
    assert 0 < found["cores"] * seconds <= grown("process_cpu_seconds_total")
    assert found["workers"] == (2 if arguments else 1)
    assert found["connections"] >= 1
    assert need["cores"] == pytest.approx(50 * found["cores"] / found["mb_s"])


async def produce_until(over, proxy, topic):
    async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
        while not over.is_set():
            await producer.send_and_wait(topic, bytes(VALUE_BYTES))


async def test_the_documented_example_prints_what_the_document_shows(kafka_431, topic, capsys):
    """But for the numbers, and for what it says of a proxy that has little to do."""
    await kafka_431.create_topic(topic)
    arguments, shown = example("capacity", CAPACITY)
    async with RunningProxy(kafka_431.bootstrap_servers) as proxy:
        over = asyncio.Event()
        changed_ones = {"127.0.0.1:9464": proxy.admin_address, "1m": "1s"}
        async with asyncio.TaskGroup() as group:
            group.create_task(produce_until(over, proxy, topic))
            result = await tsproxy(capsys, *(changed_ones.get(each, each) for each in arguments))
            over.set()
    assert (result.status, result.err) == (0, "")
    assert words(result.out)[: len(words(shown))] == words(shown)
    assert words(result.out)[len(words(shown)) :] in ([], ["", *words(LITTLE)])
