"""A configuration that changes under a proxy that runs: taken whole or not at all, and nobody is cut off."""

import asyncio
import json
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
from tests.proxy.test_service_manager import Heard
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.source import Source
from tsproxy.proxy.reload import reloader, retry
from tsproxy.proxy.reload.reloader import Reloader, sha256_of
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.wait import cancelled
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


def watched(file, meanwhile=lambda: None, manager=None):
    """A reloader of this file, and the keys that it has changed so far. `meanwhile` is called after the file
    was read for the start."""
    source = Source(file, lambda: config_of(file.read_text()))
    changed = []

    async def adopt(change):
        changed.extend(change.changed)

    config = source.read()
    meanwhile()
    return Reloader(source, config, adopt, manager or ServiceManager.of({})), changed


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


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(reloader, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(retry, "AGAIN_S", 0.03)


@pytest.mark.parametrize("has_file", [True, False])
async def test_a_rejected_reload_is_tried_again_without_a_change_of_the_file_and_each_reason_is_told_once(
    tmp_path, monkeypatch, impatient, has_file
):
    """Without a file, the flags alone say what is to run, and SIGHUP reads the files that they name again."""
    file = put(tmp_path / "tsproxy.yaml", SMALLEST)
    heard = Heard(str(tmp_path / "notify"))
    watching, changed = watched(file, manager=ServiceManager.of(heard.environment))
    watching._manager.ready()
    late, mistake = ("worker 1 has not answered for 10 s", "a mistake")
    errors = [ConfigError(Problem("", "", text)) for text in (late, late, mistake, late)]
    errors += [MemoryError(), MemoryError()]
    right, tries = watching._adopt, []

    async def adopt(change):
        tries.append(change)
        if len(tries) <= len(errors):
            raise errors[len(tries) - 1]
        await right(change)

    monkeypatch.setattr(watching, "_adopt", adopt)
    with structlog.testing.capture_logs() as log:
        running = asyncio.create_task(watching.run())
        put(file, SMALLEST + "policy: { mode: off }\n")
        if not has_file:
            monkeypatch.setattr(Source, "state", lambda _: None)
            watching.reload_now()
        await until(lambda: changed == ["policy.mode"])
    await cancelled(running)
    assert len(tries) == len(errors) + 1
    told = [(line["event"], *line.get("problems", ())) for line in log]
    ours = "a mistake in tsproxy; please report the frames"
    assert told == [
        *(("config_not_reloaded", text) for text in (late, mistake, late)),
        ("config_reload_crashed",),
        ("config_not_reloaded", ours),
        ("config_reloaded",),
    ]
    counts, *_ = watching.collect()
    assert [sample.value for sample in counts.samples] == [1, 4]
    assert (heard.count("RELOADING=1"), heard.lines[-1]) == (1, "STATUS=the last reload was taken")


async def test_a_secret_that_comes_after_the_configuration_that_names_it_is_waited_for(tmp_path, impatient):
    """An orchestrator replaces the two at different times. The new configuration waited until its file
    changed once more."""
    file, token = put(tmp_path / "tsproxy.yaml", SMALLEST), tmp_path / "token"
    watching, changed = watched(file)
    with structlog.testing.capture_logs() as log:
        running = asyncio.create_task(watching.run())
        put(file, f"{SMALLEST}admin: {{ token_file: '{token}' }}\n")
        await until(lambda: "config_not_reloaded" in [line["event"] for line in log])
        put(token, "sesame")
        await until(lambda: changed == ["admin.token_file"])
    await cancelled(running)
    assert [line["event"] for line in log] == ["config_not_reloaded", "config_reloaded"]


@pytest.mark.parametrize("is_asked", [False, True])
async def test_whoever_replaces_the_file_or_asks_is_told_the_same_mistake_again(
    tmp_path, impatient, is_asked
):
    file = put(tmp_path / "tsproxy.yaml", SMALLEST)
    watching, _ = watched(file)
    with structlog.testing.capture_logs() as log:
        running = asyncio.create_task(watching.run())
        for count in (1, 2):
            if is_asked and count == 2:
                watching.reload_now()
            else:
                put(file, SMALLEST + "policy: { mode: never }\n" + "\n" * count)
            await until(lambda count=count: len(log) == count)
    await cancelled(running)
    assert log[0] == log[1]


async def test_a_file_that_is_being_replaced_is_not_tried_again(tmp_path, impatient, monkeypatch):
    """The half that is there may be one that nobody wrote."""
    file = put(tmp_path / "tsproxy.yaml", SMALLEST)
    watching, changed = watched(file)
    read, looks = [], iter(range(1_000_000))
    with structlog.testing.capture_logs() as log:
        running = asyncio.create_task(watching.run())
        put(file, SMALLEST + "policy: { mode: never }\n")
        await until(lambda: log)
        monkeypatch.setattr(Source, "read", lambda _: read.append(0))
        monkeypatch.setattr(Source, "state", lambda _: (next(looks),))  # another one at each look
        await until(lambda: next(looks) > 50)
    await cancelled(running)
    assert (read, changed) == ([], [])


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


OF_ONE, OF_TWO, OF_THREE = (
    f"{{ name: {name}, bind: '127.0.0.1:0', advertised_host: {name}.example.com }}"
    for name in ("one", "two", "three")
)


@EITHER
async def test_listeners_keep_their_settings_when_others_are_added_or_removed_and_their_order_changes(
    kafka_391, tmp_path, arguments
):
    """Settings of one listener must not become those of the other, such as its ports or who is let in."""
    file = file_for(kafka_391, tmp_path, listeners=f"{OF_ONE}, {OF_TWO}")

    async def hosts(proxy):
        _, text = await page(proxy.admin_address, "/brokers")
        return {broker["listener"]: broker["served_at"].split(":") for broker in json.loads(text)["brokers"]}

    async with RunningProxy(config=file, arguments=arguments) as proxy:
        before = await hosts(proxy)
        changed = OF_TWO.replace("two.example.com", "2.example.com")
        for number, listeners in enumerate((f"{OF_THREE}, {changed}, {OF_ONE}", changed), 1):
            file_for(kafka_391, tmp_path, listeners=listeners)
            await until(lambda number=number: events(proxy).count("config_reloaded") == number)
            after = {"one": before["one"], "two": ["2.example.com", before["two"][1]]}
            await until(lambda after=after: is_so(hosts(proxy), after))
        told = [line["keys"] for line in proxy.log if line["event"] == "config_needs_restart"]
        assert told == [["listeners.three (added)"], ["listeners.one (removed)"]]


async def is_so(facts, wanted):
    return await facts == wanted


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
