"""The command as a process: how it starts, waits, drains and ends."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from tests.in_process import run_command
from tests.kit.client import connect, connections
from tests.proxy.loops import LOOPS
from tests.proxy.running import (
    HOST,
    TWO,
    command,
    events,
    is_cut_off,
    page,
    rejects,
    send,
    waiting_consumer,
)
from tests.proxy.world import PATIENCE_S, until
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy


@pytest.mark.parametrize("loop_name", LOOPS)
async def test_a_record_passes_on_either_loop_and_the_log_is_whole_at_the_end(kafka_440, topic, loop_name):
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers, arguments=["--loop", loop_name]) as proxy:
        await send(proxy, topic)

        assert await page(proxy.admin_address, "/readyz") == (200, "ready\n")
        _, metrics = await page(proxy.admin_address, "/metrics")
        assert 'tsproxy_records_total{listener="default",reason="",verdict="accepted"} 1.0' in metrics

    lines = proxy.decisions()
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert [line["kind"] for line in lines if line["event"] == "lifecycle"][-1] == "stop"
    assert sum(line["records"] for line in lines if line["event"] == "counters") == 1
    assert events(proxy)[-1] == "proxy_stopped"


async def test_connections_that_have_ended_leave_no_descriptors(kafka_440):
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:

        def descriptors():
            return len(os.listdir(f"/proc/{proxy.pid}/fd"))

        async def fifty_come_and_end(before):
            async with connections(proxy.bootstrap_servers, 50):
                # Fifty clients and most of the fifty connections to brokers. Some descriptors that were
                # counted before, as of the proxy's first questions to the cluster, may have been closed
                # meanwhile.
                await until(lambda: descriptors() >= before + 75)
            await until(lambda: descriptors() < before + 25)
            return descriptors()

        after_the_first = await fifty_come_and_end(descriptors())
        for _ in range(2):
            await fifty_come_and_end(after_the_first)

        own = 5  # the proxy's own connections to the broker come and go; fifty clients would leave more
        await until(lambda: descriptors() <= after_the_first + own)


async def test_the_drain_timeout_ends_what_brokers_still_hold(kafka_440, topic):
    await kafka_440.create_topic(topic)
    settings = {"limits.drain_timeout": "200ms"}
    async with RunningProxy(kafka_440.bootstrap_servers, settings=settings) as proxy:
        client = await waiting_consumer(proxy, topic, 30_000)
        os.kill(proxy.pid, signal.SIGTERM)

        assert await is_cut_off(client)
        assert await proxy.wait() == 0

    assert proxy.log[-1]["connections_aborted"] == 1


@pytest.mark.broker
async def test_an_absent_cluster_is_waited_for_and_a_lost_one_looks_like_a_down_broker(topic):
    async with KafkaCluster() as kafka:
        await kafka.create_topic(topic)
        await kafka.stop_node(1)
        proxy = RunningProxy(kafka.bootstrap_servers)
        starting = asyncio.create_task(proxy.__aenter__())
        try:
            await until(lambda: "upstream_unreachable" in events(proxy))
            begun = proxy.log[0]
            assert begun["event"] == "proxy_starting"
            assert rejects(begun["listeners"]["default"])
            assert await page(begun["admin"], "/livez") == (200, "alive\n")
            status, text = await page(begun["admin"], "/readyz")
            assert status == 503
            assert "brokers are not known yet" in text

            await kafka.start_node(1)
            await starting
            await send(proxy, topic)

            await kafka.stop_node(1)
            assert await is_cut_off(await connect(begun["listeners"]["default"]))

            await kafka.start_node(1)
            await send(proxy, topic)
        finally:
            starting.cancel()
            await proxy.__aexit__(None, None, None)
        assert events(proxy).count("proxy_started") == 1


async def test_sigterm_ends_a_proxy_that_still_waits_for_its_cluster(tmp_path):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tsproxy", "run", "--admin", "off", "--decisions", str(tmp_path)),
        *("--upstream", f"{HOST}:{free_ports(1)[0]}", "--listen", f"{HOST}:0", "--log-format", "json"),
        stderr=asyncio.subprocess.PIPE,
    )
    lines = []
    while "upstream_unreachable" not in [line["event"] for line in lines]:
        lines.append(json.loads(await asyncio.wait_for(process.stderr.readline(), PATIENCE_S)))
    process.terminate()

    assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
    assert lines[0]["admin"] == "off"


TAKEN = "another program listens there: stop it or choose another"
NO_START = {
    "a listening port": ({"--listen": f"{HOST}:{{port}}"}, f"cannot listen on {HOST}:{{port}}: {TAKEN} port"),
    "a broker's port": (
        {"--listen": f"{HOST}:{{port_of_bootstrap}}"},
        f"cannot listen on {HOST}:{{port}}: {TAKEN} port. Several workers need every port of --listen: "
        "listeners[0].brokers to be free: choose another ports_from or a smaller count",
    ),
    "the admin port": ({"--admin": f"{HOST}:{{port}}"}, f"cannot listen on {HOST}:{{port}}: {TAKEN} port"),
    "the decision folder": ({"--decisions": "{file}"}, "decisions.directory: {file} cannot be written: "),
}
"""The thing that is not free -> flags of a command that wants it, and the sentence."""


@pytest.mark.parametrize(
    ("what", "arguments"),
    # One process takes the port of a broker that it knows: test_ports_tried_again.py.
    [(what, one) for what in NO_START for one in ((), TWO) if one or what != "a broker's port"],
)
def test_what_keeps_a_proxy_from_starting_is_told_in_a_sentence(what, tmp_path, arguments):
    flags, sentence = NO_START[what]
    file = tmp_path / "file"
    file.write_text("")
    with socket.socket() as taken:
        # The listener would share its port with any process of this user, such as workers.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bootstrap, *_, port = free_ports(6)  # those of the brokers before it are free
        taken.bind((HOST, port))
        taken.listen()
        facts = {"port": port, "port_of_bootstrap": bootstrap, "file": file}
        usual = {"--listen": f"{HOST}:0", "--admin": "off", "--decisions": str(tmp_path)}
        words = [word for flag in (usual | flags).items() for word in flag]
        ended = command(
            *("run", "--upstream", f"{HOST}:9", "--log-format", "json", *arguments),
            *(word.format_map(facts) for word in words),
        )

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(f"tsproxy: {sentence.format_map(facts)}")
    assert ended.stderr.count("tsproxy: ") == 1
    assert "supervisor_lost" not in ended.stderr
    assert "Traceback" not in ended.stderr


FILE = """\
upstream: {{ bootstrap_servers: [kafka:9092] }}
listeners:
  - bind: 127.0.0.1:9192
    tls: {{ certificate: {certificate}, key: {key} }}
"""


def test_check_tells_what_has_no_effect_and_takes_the_file(tmp_path):
    file = tmp_path / "tsproxy.yaml"
    file.write_text(
        "upstream: { bootstrap_servers: [kafka:9092] }\nlisteners: [{ bind: 127.0.0.1:9192 }]\n"
        "policy: { defaults: { message.timestamp.after.max.ms: 10m } }\n"
    )
    ended, as_json = run_command("tsproxy", "check", file), run_command("tsproxy", "check", "--json", file)

    key = "policy.defaults.message.timestamp.after.max.ms"
    assert (ended.returncode, as_json.returncode) == (0, 0)
    assert ended.stdout.startswith(f"{file}:3: {key}: notice: is not used: topics set the limits")
    told = json.loads(as_json.stdout)
    assert (told["ok"], [each["key"] for each in told["notices"]]) == (True, [key])


@pytest.mark.parametrize(("status", "words"), [(2, ["check"]), (1, ["run", "--admin", "off", "--config"])])
def test_check_and_run_read_certificates_too(tmp_path, status, words):
    """In a process: its exit status is what `main` returns."""
    file = tmp_path / "tsproxy.yaml"
    file.write_text(FILE.format(certificate="absent.pem", key="absent.key"))
    ended = command(*words, file)

    problem = "listeners[0].tls.certificate: absent.pem cannot be read: No such file or directory"
    assert (ended.returncode, ended.stderr) == (status, f"{file}:4: {problem}\n")


HALF_RENEWED = {
    "the key is still the old one": "tls: {{ certificate: '{one.certificate}', key: '{two.key}' }}",
    "the certificate is empty": "tls: {{ certificate: '{empty}', key: '{one.key}' }}",
    "the list of revoked certificates is empty": (
        "tls: {{ certificate: '{one.certificate}', key: '{one.key}', "
        "client_ca: '{one.certificate}', client_crl: '{empty}' }}"
    ),
    "the token is empty": "{{ token_file: '{empty}' }}",
}


@pytest.mark.parametrize("files", HALF_RENEWED)
def test_a_start_in_the_middle_of_a_renewal_is_no_mistake_of_the_configuration(files, certificates, tmp_path):
    """systemd gives up at status 2. A mistake beside it is one all the same."""
    file, empty = tmp_path / "tsproxy.yaml", tmp_path / "empty"
    empty.write_text("")
    named = HALF_RENEWED[files].format(
        one=certificates.issue("renewed-one"), two=certificates.issue("renewed-two"), empty=empty
    )
    section = f"    {named}\n" if named.startswith("tls") else f"admin: {named}\n"
    statuses = []
    for more in ("", "log: { level: loud }\n"):
        file.write_text(FILE.partition("    tls")[0].format() + section + more)
        ended = command("run", "--set", f"decisions.directory={tmp_path}", "--config", file)
        assert "Traceback" not in ended.stderr
        statuses.append(ended.returncode)
    assert statuses == [1, 2]


@pytest.mark.parametrize("words", [[], ["run"], ["check"]])
def test_every_help_has_an_example(words):
    ended = run_command("tsproxy", *words, "--help")

    assert ended.returncode == 0
    assert "  tsproxy " in ended.stdout.partition("example")[2]


def test_asking_for_help_loads_no_kafka_client():
    code = """
import sys
from tsproxy.cli import main
try:
    main(["--help"])
finally:
    assert "aiokafka" not in sys.modules
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)

    assert ended.returncode == 0


def test_check_tells_a_program_all_problems(tmp_path):
    file = tmp_path / "tsproxy.yaml"
    file.write_text("upstream: {}\nlisteners: [{ bind: x }]\n")
    ended = run_command("tsproxy", "check", "--json", file)

    told = json.loads(ended.stdout)
    assert ended.returncode == 2
    assert told["ok"] is False
    assert [(each["place"], each["key"]) for each in told["problems"]] == [
        (f"{file}:1", "upstream.bootstrap_servers"),
        (f"{file}:2", "listeners[0].bind"),
    ]


def test_check_prints_the_schema_of_the_file():
    ended = run_command("tsproxy", "check", "--schema")

    assert ended.returncode == 0
    assert json.loads(ended.stdout)["properties"].keys() >= {"upstream", "listeners", "policy"}
