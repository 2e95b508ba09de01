"""A configuration that changes under a proxy that runs: taken whole or not at all, and nobody is cut off."""

import asyncio
import os
import signal
from contextlib import suppress

import pytest
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.config.files import SMALLEST, config_of
from tests.full_only import variations
from tests.kit.client import connections, produced
from tests.proxy.running import EITHER, TWO, events, file_for, page, pids, put
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.reloaded import Reloaded
from tsproxy.config.source import Source
from tsproxy.proxy.reload import reloader
from tsproxy.proxy.reload.reloader import Reloader, UnansweredError, sha256_of
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.wait import cancelled
from tsproxy.proxy.workers.member import Member
from tsproxy.proxy.workers.supervisor import Supervisor
from tsproxy.testing.proxy import RunningProxy

HOUR_MS = 3_600_000
ENFORCE = "policy: { limits_from: config, defaults: { message.timestamp.after.max.ms: 10s } }\n"
LOOSE = "policy: { limits_from: config, defaults: { message.timestamp.after.max.ms: 7d } }\n"


def hang_up(proxy):
    os.kill(proxy.pid, signal.SIGHUP)


async def reloads(proxy, result):
    """How many reloads ended so."""
    _, text = await page(proxy.admin_address, "/metrics")
    name = f'tsproxy_config_reload_total{{result="{result}"}} '
    return sum(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))


async def test_a_tighter_limit_holds_on_a_connection_that_was_there_before(kafka_391, topic, tmp_path):
    await kafka_391.create_topic(topic)
    file = file_for(kafka_391, tmp_path, more=LOOSE)
    async with (
        RunningProxy(config=file) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, max_batch_size=1) as producer,
    ):
        for _ in range(3):
            await producer.send_and_wait(topic, b"x", timestamp_ms=Clock().now_ms() + HOUR_MS)
        file_for(kafka_391, tmp_path, more=ENFORCE + "workers: 2\ndecisions: { directory: elsewhere }\n")
        hang_up(proxy)
        await until(lambda: {"config_reloaded", "config_needs_restart"} <= {*events(proxy)})

        with pytest.raises(InvalidTimestampError):
            await producer.send_and_wait(topic, b"x", timestamp_ms=Clock().now_ms() + HOUR_MS)
        await producer.send_and_wait(topic, b"x")

        told = next(line for line in proxy.log if line["event"] == "config_reloaded")
        assert told["changed"] == ["policy.defaults.message.timestamp.after.max.ms"]
        told = next(line for line in proxy.log if line["event"] == "config_needs_restart")
        # The flag of the test wins over decisions.directory, then as now.
        assert told["keys"] == ["workers"]
        assert await reloads(proxy, "taken") == 1

    assert "session_closed" not in events(proxy)
    assert [line["kind"] for line in proxy.decisions() if line["event"] == "lifecycle"].count("reload") == 1


@pytest.mark.parametrize(
    "before",
    variations("test_listeners.py has both", ["mode: off", "limits_from: config"], but=["mode: off"]),
)
async def test_after_a_reload_to_limits_of_topics_the_first_request_waits_for_them(
    kafka_440, topic, tmp_path, before
):
    """It was rejected by the preset until the next refresh, where the broker and a fresh start accept it."""
    await kafka_440.create_topic(topic, config={"message.timestamp.after.max.ms": str(7 * 24 * HOUR_MS)})
    policy = "policy: {{ {}, rules: [{{ name: r, match: {{ topics: ['*'] }}, preset: kafka-4 }}] }}\n"
    file = file_for(kafka_440, tmp_path, more=policy.format(before))
    async with RunningProxy(config=file) as proxy:
        file_for(kafka_440, tmp_path, more=policy.format("mode: enforce"))
        hang_up(proxy)
        await until(lambda: "config_reloaded" in events(proxy))
        async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
            await producer.send_and_wait(topic, b"x", timestamp_ms=Clock().now_ms() + 2 * HOUR_MS)


@EITHER
async def test_a_wrong_file_changes_nothing_and_every_problem_is_told(kafka_391, topic, tmp_path, arguments):
    await kafka_391.create_topic(topic)
    file = file_for(kafka_391, tmp_path, more=ENFORCE)
    async with RunningProxy(config=file, arguments=arguments) as proxy, of_both(proxy) as clients:
        file_for(kafka_391, tmp_path, more="policy: { mode: never }\nlimitz: { idle: 1 }\n")
        hang_up(proxy)
        await until(lambda: "config_not_reloaded" in events(proxy))

        assert await codes(clients, topic) == {32}
        told = next(line for line in proxy.log if line["event"] == "config_not_reloaded")
        assert [problem.partition(": ")[2].split(": ")[0] for problem in told["problems"]] == [
            "limitz",
            "policy.mode",
        ]
        assert await reloads(proxy, "rejected") == 1
        assert await page(proxy.admin_address, "/readyz") == (200, "ready\n")

        file.write_text(file.read_text().replace("never }\nlimitz: { idle: 1 }", "off }"))  # in its place
        await until(lambda: "config_reloaded" in events(proxy))
        assert await codes(clients, topic) == {0}


async def test_sighup_does_not_end_a_proxy_that_has_only_begun(kafka_391, tmp_path):
    proxy = RunningProxy(kafka_391.bootstrap_servers)
    starting = asyncio.create_task(proxy.__aenter__())
    try:
        await until(lambda: "proxy_starting" in events(proxy))
        hang_up(proxy)
        await starting
        hang_up(proxy)
        await until(lambda: "config_reloaded" in events(proxy))
    finally:
        await proxy.__aexit__(None, None, None)


def watched(file, meanwhile=lambda: None):
    """A reloader of this file, and the keys that it has changed so far. `meanwhile` is called after the file
    was read for the start."""
    source = Source(file, lambda: config_of(file.read_text()))
    changed = []

    async def adopt(change):
        changed.extend(change.changed)

    config = source.read()
    meanwhile()
    return Reloader(source, config, adopt, ServiceManager.of({})), changed


async def test_a_change_between_the_reading_of_the_file_and_the_first_look_at_it_is_seen(
    tmp_path, monkeypatch
):
    file = put(tmp_path / "tsproxy.yaml", SMALLEST)
    watching, changed = watched(file, lambda: put(file, SMALLEST + "policy: { mode: off }\n"))
    monkeypatch.setattr(reloader, "POLL_INTERVAL_S", 0.01)
    running = asyncio.create_task(watching.run())
    await until(lambda: changed == ["policy.mode"])
    await cancelled(running)


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ((reloader, "sha256_of"), RuntimeError),
        ((Source, "state"), RuntimeError),
        ((Source, "read"), SystemExit),
    ],
    ids=["hash", "look at file", "code of a rule"],
)
async def test_an_error_of_our_own_changes_nothing_is_logged_and_does_not_end_the_reloads(
    tmp_path, monkeypatch, part, error
):
    file = put(tmp_path / "tsproxy.yaml", SMALLEST)
    watching, changed = watched(file)
    right = getattr(*part)

    def fails(*_):
        raise error

    monkeypatch.setattr(*part, fails)
    monkeypatch.setattr(reloader, "POLL_INTERVAL_S", 0.01)
    with structlog.testing.capture_logs() as log:
        running = asyncio.create_task(watching.run())
        put(file, SMALLEST + "policy: { mode: off }\n")
        await until(lambda: "config_reload_crashed" in [line["event"] for line in log])
        assert changed == []
        monkeypatch.setattr(*part, right)
        watching.reload_now()
        await until(lambda: changed == ["policy.mode"])
    await cancelled(running)


@pytest.mark.parametrize("has_file", [True, False])
async def test_what_a_worker_was_too_slow_for_is_tried_again_without_a_change_of_the_file(
    tmp_path, monkeypatch, has_file
):
    """Without a file, the flags alone say what is to run, and SIGHUP reads the files that they name again."""
    monkeypatch.setattr(reloader, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(reloader, "AGAIN_S", 0.01)
    file = put(tmp_path / "tsproxy.yaml", SMALLEST)
    watching, changed = watched(file)
    right, tries = watching._adopt, []

    async def adopt(change):
        tries.append(change)
        if len(tries) < 3:
            raise UnansweredError(Problem("", "", "worker 2 has not answered for 10 s"))
        await right(change)

    monkeypatch.setattr(watching, "_adopt", adopt)
    running = asyncio.create_task(watching.run())
    put(file, SMALLEST + "policy: { mode: off }\n")
    if not has_file:
        monkeypatch.setattr(Source, "state", lambda _: None)
        watching.reload_now()
    await until(lambda: changed == ["policy.mode"])
    assert len(tries) == 3
    await cancelled(running)


LATE = "worker 1 has not answered for 10 s"


@pytest.mark.parametrize(
    ("answers", "told", "error"),
    [
        ([None, []], [LATE], UnansweredError),  # tried again
        ([None, ["a mistake"]], [LATE, "a mistake"], ConfigError),  # it would be told each time
        ([["a mistake"], ["a mistake"]], ["a mistake"], ConfigError),
    ],
)
async def test_only_what_nothing_but_a_slow_worker_prevented_is_tried_again(
    tmp_path, monkeypatch, answers, told, error
):
    file = put(tmp_path / "tsproxy.yaml", f"{SMALLEST}workers: 2\n")
    config, manager = config_of(file.read_text()), ServiceManager.of({})
    supervisor = Supervisor(config, Source(file, lambda: config), manager, Clock(), lambda _: None)

    async def prepare(member, _):
        return answers[member.number - 1]

    monkeypatch.setattr(Member, "prepare", prepare)
    with pytest.raises(ConfigError) as caught:
        await supervisor.adopt(Reloaded(config, (), ()))
    assert (type(caught.value), str(caught.value).splitlines()) == (error, told)


LISTENER = "listeners: [{ bind: '10.0.0.1:9192' }]\n"
UPSTREAM = "upstream: { bootstrap_servers: [kafka-1:9092] }\n"
WITH_TLS = UPSTREAM.replace(" }", ", tls: { certificate: a.pem, key: a.key, ca: a.pem }, bearer_claim: sub }")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (UPSTREAM, f"{UPSTREAM}listeners: [{{ bind: '10.0.0.2:9192' }}]\nadmin: {{ bind: off }}\n", True),
        (UPSTREAM, f"{UPSTREAM}{LISTENER}decisions: {{ directory: elsewhere }}\n", True),
        (UPSTREAM, f"{UPSTREAM}{LISTENER}policy: {{ mode: audit }}\n", False),
        (WITH_TLS, WITH_TLS.replace("a.", "/etc/b.") + LISTENER, True),
        (WITH_TLS, WITH_TLS.replace("sub", "name") + LISTENER, False),
        (WITH_TLS, UPSTREAM + LISTENER, False),
    ],
)
def test_proxies_that_differ_in_more_than_their_machines_have_different_hashes(one, other, is_same):
    one, other = config_of(one + LISTENER), config_of(other)
    assert (sha256_of(one) == sha256_of(other)) is is_same


async def codes(clients, topic, ahead_ms=HOUR_MS):
    """The answers to a record of each."""
    return {await produced(client, topic, Clock().now_ms() + ahead_ms) for client in clients}


def of_both(proxy):
    """Raw connections; that one of two workers has them all is 1 in 2 ** 15."""
    return connections(proxy.bootstrap_servers, 16)


async def test_all_workers_take_a_reload_and_so_do_those_that_are_started_later(kafka_391, topic, tmp_path):
    await kafka_391.create_topic(topic)
    file = file_for(kafka_391, tmp_path, more=LOOSE)
    async with RunningProxy(config=file, arguments=TWO) as proxy, of_both(proxy) as before:
        assert await codes(before, topic) == {0}
        file_for(kafka_391, tmp_path, more=ENFORCE)
        for pid in (proxy.pid, *pids(proxy).values()):  # as a service manager may that signals all
            os.kill(pid, signal.SIGHUP)
        await until(lambda: "config_reloaded" in events(proxy))

        assert await codes(before, topic) == {32}
        assert await reloads(proxy, "taken") == 1

        first = pids(proxy)[1]
        os.kill(first, signal.SIGKILL)
        await until(lambda: pids(proxy)[1] != first)
        async with of_both(proxy) as after:
            assert await codes(after, topic) == {32}
    assert events(proxy).count("config_reloaded") == 1


@pytest.mark.full_only("waits 10 s for a worker that hangs; a wrong file leaves all as they were above")
async def test_a_worker_that_does_not_answer_keeps_the_others_from_changing(kafka_391, topic, tmp_path):
    await kafka_391.create_topic(topic)
    file = file_for(kafka_391, tmp_path, more=ENFORCE)
    async with RunningProxy(config=file, arguments=TWO) as proxy, of_both(proxy) as before:
        hanging = pids(proxy)[1]
        os.kill(hanging, signal.SIGSTOP)
        try:
            file_for(kafka_391, tmp_path, more=LOOSE)
            hang_up(proxy)  # at once: the worker is killed when it has hung for 12 s
            await until(lambda: "config_not_reloaded" in events(proxy))
            told = next(line for line in proxy.log if line["event"] == "config_not_reloaded")
            assert told["problems"] == ["worker 1 has not answered for 10 s"]
            asked = [asyncio.create_task(codes([client], topic)) for client in before]
            others, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            assert all(other.result() == {32} for other in others)
            await cancelled(*asked)
        finally:
            with suppress(ProcessLookupError):
                os.kill(hanging, signal.SIGCONT)

        # Continued too late, the worker was killed. Another one takes its place.
        await until(lambda: "config_reloaded" in events(proxy))
        async with of_both(proxy) as clients:
            assert await codes(clients, topic) == {0}
