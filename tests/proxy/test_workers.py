"""Several workers behind one set of ports: together they are one proxy, and each may fail alone."""

import asyncio
import json
import os
import shutil
import signal
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from structlog.testing import capture_logs

from tests.config.files import SMALLEST, config_of
from tests.full_only import variations
from tests.kit.client import connections
from tests.kit.tasks import beside
from tests.kit.topics import records_of
from tests.planted import traces
from tests.processes import is_alive
from tests.proxy.loops import LOOPS, LoopName
from tests.proxy.running import (
    EVERY_SECOND,
    HOST,
    TWO,
    events,
    file_for,
    is_answered,
    page,
    pids,
    send,
    series,
    until_page,
    waiting_consumer,
)
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.proxy.admin.report import NOTHING, Report
from tsproxy.proxy.metrics.totals import families_now, rows
from tsproxy.proxy.workers.channel import as_text
from tsproxy.proxy.workers.worker import _obey
from tsproxy.testing.client_options import client_context
from tsproxy.testing.proxy import RunningProxy


def boots_of(proxy, topic):
    """Boot -> records of `topic` that it counted."""
    records = Counter()
    for line in proxy.decisions():
        if line["event"] == "counters" and line["topic"] == topic:
            records[line["boot"]] += line["records"]
    return records


@pytest.mark.parametrize(
    "loop_name", variations("test_process.py passes a record on either loop", LOOPS, but=[LoopName.UVLOOP])
)
async def test_two_workers_share_the_connections_and_their_metrics_and_logs_add_up(
    kafka_440, topic, loop_name
):
    await kafka_440.create_topic(topic)
    now_ms = Clock().now_ms()
    arguments = [*TWO, "--loop", loop_name]
    async with RunningProxy(kafka_440.bootstrap_servers, arguments=arguments) as proxy:
        assert proxy.facts["workers"] == 2
        for n in range(20):  # each a connection of its own: that one worker gets all is 1 in 2 ** 19
            async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
                await producer.send_and_wait(topic, b"%d" % n, timestamp_ms=now_ms)
                with pytest.raises(InvalidTimestampError):
                    await producer.send_and_wait(topic, b"bad", timestamp_ms=now_ms * 1000)

        assert await page(proxy.admin_address, "/readyz") == (200, "ready\n")
        assert await page(proxy.admin_address, "/livez") == (200, "alive\n")
        found = await series(proxy)
        accepted = 'listener="default",reason="",verdict="accepted"'
        assert found[f"tsproxy_records_total{{{accepted}}}"] == 20
        assert found[f"tsproxy_batches_total{{{accepted}}}"] == 20
        assert found['tsproxy_bad_records_total{reason="too_far_ahead",unit="microseconds"}'] == 20
        assert found['tsproxy_brokers{listener="default"}'] == 1
        assert found["tsproxy_upstream_up"] == 1
        assert found['tsproxy_worker_restarts_total{worker="1"}'] == 0
        assert found['tsproxy_worker_ready{worker="2"}'] == 1

    served = [line["address"] for line in proxy.log if line["event"] == "broker_served"]
    assert (len(served), len(set(served))) == (2, 1), "clients are told the same port by each"
    assert events(proxy).count("proxy_starting") == 1
    assert events(proxy).count("proxy_started") == 1
    assert {line["worker"] for line in proxy.log if line["event"] == "worker_stopped"} == {1, 2}
    assert proxy.log[-1]["event"] == "proxy_stopped"
    records = boots_of(proxy, topic)
    assert len(records) == 2
    assert sum(records.values()) == 40
    assert await kafka_440.end_offsets(topic) == {0: 20}
    for boot in records:
        lines = [line for line in proxy.decisions() if line["boot"] == boot]
        assert sorted(line["seq"] for line in lines) == list(range(len(lines)))


async def test_no_secret_stands_in_the_arguments_of_any_process(kafka_440, tmp_path):
    """Everybody on the machine can read these. One secret comes from a variable, one from the file itself."""
    secrets = {"token": "planted-token-of-a-variable", "salt": "planted-salt-of-the-file"}
    privacy = f"decisions: {{ privacy: {{ addresses: hash, salt: {secrets['salt']} }} }}\n"
    file = file_for(kafka_440, tmp_path, more="admin: { token: '${TOKEN}' }\n" + privacy)
    environment = {"TOKEN": secrets["token"]}
    async with RunningProxy(config=file, arguments=TWO, environment=environment) as proxy:
        supervisor, *workers = (Path(f"/proc/{pid}") for pid in (proxy.pid, *pids(proxy).values()))
        told = [(process / "cmdline").read_bytes() for process in (supervisor, *workers)]
        given = (supervisor / "environ").read_bytes().split(b"\0")
        theirs = [(worker / "environ").read_bytes().split(b"\0") for worker in workers]
    assert len(told) == 3
    assert all(b"tsproxy" in each for each in told)
    assert traces(told, secrets) == []
    # The environment of a worker has what the operator gave, and nothing that was read from the file.
    assert traces([set(each) - set(given) for each in theirs], secrets) == []


def addresses_of(lines):
    return {address for line in lines for address in line.get("addresses", ())}


async def test_workers_that_replace_all_others_serve_as_they_did(kafka_440, topic, certificates, tmp_path):
    """When all are killed, the decision folder, its salt and the certificate are gone."""
    for name in (topic, f"{topic}-log"):
        await kafka_440.create_topic(name)
    identity, cert, folder = certificates.issue("worker"), tmp_path / "cert.pem", tmp_path / "decisions"
    shutil.copy(identity.certificate, cert)
    tls = f"{{ certificate: {cert}, key: {identity.key} }}"
    file = file_for(kafka_440, tmp_path, f"{{ bind: '{HOST}:0', advertised_host: localhost, tls: {tls} }}")
    settings = {"decisions.privacy.addresses": "hash", "decisions.topic.name": f"{topic}-log"}
    trusting = {"security_protocol": "SSL", "ssl_context": client_context(certificates.certificate)}

    async def write_on_ten_connections():
        for _ in range(10):  # that one worker gets all is 1 in 2 ** 9
            async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, **trusting) as producer:
                await producer.send_and_wait(topic, b"x")

    async def says_nothing():
        return await page(proxy.admin_address, "/readyz?verbose") == (200, "ready\n")

    settings |= EVERY_SECOND
    async with RunningProxy(config=file, arguments=TWO, decisions=folder, settings=settings) as proxy:
        await write_on_ten_connections()
        await until(lambda: addresses_of(proxy.decisions()))
        killed, before = {*pids(proxy).values()}, addresses_of(proxy.decisions())
        folder.rename(tmp_path / "moved")
        folder.write_text("")
        cert.write_text("")
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: not killed & {*pids(proxy).values()})
        for warning in (
            "worker 1: the decision log cannot be written",
            "worker 2: the decision log cannot be sent",
            "the files of listeners.default.tls cannot be used, and the old ones are in force",
        ):
            await until_page(proxy, "/readyz?verbose", 200, warning)
        await write_on_ten_connections()

        folder.unlink()
        shutil.copy(identity.certificate, cert)
        await until(says_nothing)
        assert pids(proxy).keys() == {1, 2}
        await until_page(proxy, "/metrics", 200, "tsproxy_decision_topic_up 1.0")
    assert events(proxy).count("worker_ended") == 2
    assert sum(boots_of(proxy, topic).values()) == 10
    sent = [json.loads(record.value) for record in await records_of(kafka_440, f"{topic}-log")]
    boots = {line["boot"] for line in proxy.decisions()}
    assert len(boots) == 2
    assert [line for line in proxy.decisions() if line not in sent] == []
    assert addresses_of(line for line in sent if line["boot"] in boots) == before


@contextmanager
def stopped(*processes):
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in processes:
        with suppress(ProcessLookupError):  # it was killed meanwhile, because it did not answer
            os.kill(pid, signal.SIGCONT)


async def test_the_proxy_is_ready_while_one_worker_serves_and_names_the_other(kafka_440, topic):
    """No counter goes back meanwhile."""
    await kafka_440.create_topic(topic)
    accepted = 'tsproxy_records_total{listener="default",reason="",verdict="accepted"}'
    async with RunningProxy(kafka_440.bootstrap_servers, arguments=TWO) as proxy:
        for _ in range(10):  # that the other worker gets all is 1 in 2 ** 10
            await send(proxy, topic)
        assert (await series(proxy))[accepted] == 10
        killed = pids(proxy)[2]
        os.kill(killed, signal.SIGKILL)
        told = "ready\nwarning: worker 2: ended: killed by SIGKILL, and is restarted\n"
        await until_page(proxy, "/readyz?verbose", 200, told)
        while pids(proxy)[2] == killed:
            assert await page(proxy.admin_address, "/readyz") == (200, "ready\n")
        await until_page(proxy, "/readyz?verbose", 200, "ready\n")
        found = await series(proxy)
        assert (found[accepted], found['tsproxy_brokers{listener="default"}']) == (10, 1)

        # A worker that does not answer for long is killed and started anew, so each scene ends with its page.
        with stopped(pids(proxy)[1]):
            await until_page(proxy, "/readyz?verbose", 200, "ready\nwarning: worker 1: ")
        with stopped(*pids(proxy).values()):
            await until_page(proxy, "/readyz", 503, "worker 2: has not answered for 2 s\n")
            assert (await page(proxy.admin_address, "/livez"))[0] == 200

        await until_page(proxy, "/readyz", 200, "ready")


async def test_a_killed_supervisor_leaves_no_worker_however_long_the_delay(kafka_440):
    """The next supervisor wants their ports."""
    settings = {"limits.drain_delay": "10m"}
    proxy = RunningProxy(kafka_440.bootstrap_servers, arguments=TWO, settings=settings)
    await proxy.__aenter__()
    workers = pids(proxy)
    assert len(set(workers.values())) == 2
    async with connections(proxy.bootstrap_servers, 8):
        await proxy.kill()

        await until(lambda: not any(is_alive(pid) for pid in workers.values()))
        await until(lambda: events(proxy).count("worker_stopped") == 2)
    assert events(proxy).count("supervisor_lost") == 2
    assert "drain_delayed" not in events(proxy)
    await proxy.__aexit__(None, None, None)


async def test_signals_to_every_process_at_once_do_not_cut_a_drain_short(kafka_440, topic):
    """As a service manager that signals the whole group does; only a second one to the supervisor hurries."""
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers, arguments=TWO) as proxy:
        client = await waiting_consumer(proxy, topic, 2_000)
        for pid in (proxy.pid, *pids(proxy).values()):
            os.kill(pid, signal.SIGTERM)
        await until(lambda: events(proxy).count("drain_started") == 2)
        for pid in pids(proxy).values():
            with suppress(ProcessLookupError):  # the worker that owes nothing may have ended
                os.kill(pid, signal.SIGTERM)

        assert await is_answered(client)
        client.close()
        assert await proxy.wait() == 0

    assert proxy.log[-1]["connections_aborted"] == 0


async def test_a_worker_that_was_told_to_end_by_itself_is_followed_by_another(kafka_440):
    async with RunningProxy(kafka_440.bootstrap_servers, arguments=TWO) as proxy:
        pid = pids(proxy)[1]
        os.kill(pid, signal.SIGTERM)
        await until(lambda: pids(proxy)[1] != pid)
    assert not any(line.get("event") == "not_json" for line in proxy.log)


async def test_a_worker_counts_as_reloaded_when_it_has_obeyed_and_not_when_it_is_ordered_to(member, worker):
    async def hear_all():
        async for line in member._channel.lines():
            member._receive(line)

    heard, orders = asyncio.create_task(hear_all()), worker.lines()
    member.commit(None)
    obeyed = asyncio.create_task(member.has_committed())
    assert await anext(orders) == {"order": "commit"}
    asked = await anext(orders)
    assert not obeyed.done()
    worker.send({"event": "report", "id": asked["id"], "report": NOTHING.as_line()})
    await obeyed
    await worker.close()
    await heard


class Slow:
    """A proxy whose report takes longer than the supervisor waits."""

    async def report(self):
        await asyncio.Event().wait()

    def close(self):
        pass


async def test_a_worker_says_that_it_has_heard_an_order_before_it_answers(channels):
    """A report may take long on a machine that is overloaded. No worker is killed for that."""
    supervisor, channel = channels
    supervisor.send({"order": "report", "id": 1})
    async with beside(_obey(channel, Slow())), asyncio.timeout(30):
        assert await anext(supervisor.lines()) == {"event": "heard"}


class NoMemory:
    """A proxy that has no memory for what is ordered."""

    is_closed = False

    async def report(self):
        raise MemoryError

    async def prepare(self, config):
        raise MemoryError

    def close(self):
        self.is_closed = True


async def test_orders_that_crash_are_logged_and_the_worker_drains(channels):
    supervisor, channel = channels
    proxy = NoMemory()
    supervisor.send({"order": "report", "id": 1})
    with capture_logs() as logged:
        async with asyncio.timeout(30):
            await _obey(channel, proxy)
    assert proxy.is_closed
    assert [(each["event"], each["error"]) for each in logged] == [("orders_crashed", "MemoryError")]
    assert logged[0]["frames"][-1].endswith("report")


async def test_a_mistake_of_ours_that_prevents_a_reload_is_logged_once_though_it_is_tried_again(channels):
    supervisor, channel = channels
    proxy = NoMemory()
    with capture_logs() as logged:
        async with beside(_obey(channel, proxy)), asyncio.timeout(30):
            answers = supervisor.lines()
            for number in (1, 2):
                supervisor.send({"order": "prepare", "id": number, "config": as_text(config_of(SMALLEST))})
                assert await anext(answers) == {"event": "heard"}
                assert (await anext(answers))["problems"]
                supervisor.send({"order": "abandon"})
                assert await anext(answers) == {"event": "heard"}
    assert [(each["event"], each["error"]) for each in logged] == [("config_reload_crashed", "MemoryError")]


async def test_a_count_that_a_report_lacks_stays_as_it_was(member):
    """A worker without a free descriptor cannot read its own CPU time: the sum of all workers fell."""
    counter, gauge = CounterMetricFamily("cpu", "", 7), GaugeMetricFamily("fds", "", 3)
    for families in ([counter, gauge], []):
        report = Report((), families_now(families)).as_line()
        member._receive({"event": "report", "report": report})
    assert rows(member.known.families, "cpu_total") == [({}, 7)]
    assert rows(member.known.families, "fds") == []
