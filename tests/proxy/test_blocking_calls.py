"""Which system calls the event loop's thread makes in a run with every feature on: strace lists them. Nothing
outside may keep that thread waiting, since all clients would wait with it."""

import asyncio
import contextlib
import os
import re
import shutil
import socket
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.kit.client import connect
from tests.kit.tasks import beside
from tests.proxy.proxy_listeners import before_broker, facts_of
from tests.proxy.running import HOST, events, one_process, page, put
from tests.proxy.test_reload import HOUR_MS, hang_up
from tests.proxy.world import PATIENCE_S, until
from tests.session.messages import API_VERSIONS, request
from tsproxy.cluster.admin_connection import connected
from tsproxy.cluster.kafka_producer import connected_producer
from tsproxy.cluster.tokens import token_provider
from tsproxy.config.settings import ClientCredentials, Password, Sasl, SaslMechanism, ServerTls, Upstream
from tsproxy.config.tree import KEYS
from tsproxy.config.values import SecretFile
from tsproxy.model.addresses import Address, ip_or_none
from tsproxy.proxy.admin.access import Reading
from tsproxy.proxy.reload.certificates import Copy, Credentials, Sources
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

ALLOWED = {
    "a socket, which never blocks": re.compile(r"\w+\(\d+<(TCP|TCPv6|UDP|UNIX|NETLINK|socket):.*|socket\(.*"),
    "the loop itself": re.compile(r"\w+\(\d+<(anon_inode:\[\w+\]|pipe:\[\d+\])>.*"),
    "its own descriptors": re.compile(r"(close|dup\w*|fcntl|ioctl|epoll_create1?)\(.*"),
    "memory, threads, clocks, signals and numbers of the process": re.compile(
        r"(brk|mmap|munmap|madvise|mprotect|mremap|futex|clone3?|rseq|set_robust_list|rt_sig\w+|sched_\w+"
        r"|clock_\w+|get\w+|prctl|restart_syscall|kill|tgkill|sysinfo|prlimit64|set_tid_address)\(.*"
    ),
    "the kernel's own files": re.compile(r'\w+\((AT_FDCWD[^,]*, )?(\d+<|")/(proc|sys)/.*'),
}
"""Why a call may be made: what it looks like."""
TOKEN = "planted-token"
AFTER = "message.timestamp.after.max.ms: 1m"
CALL = re.compile(r"^(?:\S+ )?(?P<call>\w+\(.*)$")


def text_of(kafka, files, token, more=""):
    return f"""
upstream: {{ bootstrap_servers: ["{kafka.bootstrap_servers}"], admin: {{ refresh: 1s }} }}
listeners:
  - {{ name: plain, bind: "localhost:0" }}
  - {{ name: tls, bind: "localhost:0", tls: {{ certificate: "{files.certificate}", key: "{files.key}" }} }}
decisions: {{ interval: 1s, topic: {{ name: decisions-of-calls }} }}
admin: {{ token_file: "{token}" }}
dead_letters: {{ topic: letters-of-calls, unproven: copy }}
policy:
  rules:
    - {{ name: repaired, match: {{ topics: ["*-repaired"] }}, on_violation: stamp, {AFTER} }}
    - {{ name: copied, dead_letters: yes, {AFTER} }}
{more}"""


@pytest.mark.broker
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
async def test_the_loop_makes_no_call_that_may_wait(kafka_440, topic, certificates, tmp_path):
    file, calls, files = tmp_path / "tsproxy.yaml", tmp_path / "calls", certificates.issue("localhost")
    token = put(tmp_path / "token", TOKEN)
    file.write_text(text_of(kafka_440, files, token))
    for name in (topic, f"{topic}-repaired", "decisions-of-calls", "letters-of-calls"):
        await kafka_440.create_topic(name)
    async with RunningProxy(config=file) as proxy:
        strace = await asyncio.create_subprocess_exec(
            *("strace", "-y", "-q", "-s", "200", "-o", str(calls), "-p", str(proxy.pid))
        )
        await until(lambda: calls.exists() and calls.stat().st_size > 0)
        try:
            await used(proxy, topic)
            put(file, text_of(kafka_440, files, token, "log: { level: debug }\n"))
            hang_up(proxy)
            await until(lambda: "config_reloaded" in events(proxy))
            os.utime(files.certificate)
            await until(lambda: proxy.decisions())
            await asyncio.sleep(3)
        finally:
            strace.terminate()
            await strace.wait()
    made = [found["call"] for line in calls.read_text().splitlines() if (found := CALL.match(line))]
    others = Counter(
        call.split(" = ")[0] for call in made if not any(p.match(call) for p in ALLOWED.values())
    )
    assert len(made) > 1_000
    assert not others, "\n".join(f"{count} x {call}" for call, count in others.most_common(40))


async def used(proxy, topic):
    """Good and bad records of clients, and all pages."""
    async with AIOKafkaProducer(
        bootstrap_servers=proxy.bootstrap_servers, compression_type="gzip"
    ) as producer:
        for name in (topic, f"{topic}-repaired"):
            for _ in range(20):
                await producer.send_and_wait(name, b"x" * 1_000)
        ahead_ms = int(time.time() * 1_000) + HOUR_MS
        await producer.send_and_wait(f"{topic}-repaired", b"x", timestamp_ms=ahead_ms)
        with pytest.raises(InvalidTimestampError):
            await producer.send_and_wait(topic, b"x", timestamp_ms=ahead_ms)
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=proxy.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        await consumer.getone()
    for path in ("/metrics", "/readyz?verbose", "/livez", "/config", "/brokers", "/"):
        assert (await page(proxy.admin_address, path, TOKEN))[0] == 200


async def test_no_name_is_looked_up_on_the_loop_for_the_port_of_a_broker_that_comes_later(monkeypatch):
    """No broker joins the cluster of the run above. The name server may be silent by then: all clients would
    wait for it, and again each second as long as the broker cannot be served."""
    look_up, names = socket.getaddrinfo, []

    def looked_up(host, *arguments, **options):
        names.extend([] if ip_or_none(str(host)) else [host])
        return look_up(host, *arguments, **options)

    port = free_ports(2)[0]
    listener = f"{{ bind: 'localhost:0', brokers: {{ ports_from: {port}, count: 2 }} }}"
    async with before_broker(listener) as (proxy_listener, broker):
        monkeypatch.setattr(socket, "getaddrinfo", looked_up)
        with socket.create_server((proxy_listener._bootstrap.ip, port + 1)):
            proxy_listener.apply_facts(facts_of({0: broker, 1: broker}))
            assert not proxy_listener.serve_missing()
        assert proxy_listener.serve_missing()
        assert {each.host for each in proxy_listener.endpoints.values()} == {"localhost"}
    assert not names


@pytest.mark.broker
@one_process("a supervisor reads files by the same code")
async def test_a_file_of_the_configuration_that_stands_still_keeps_only_the_reload_waiting(
    kafka_440, certificates, tmp_path, arguments
):
    """As on a network disk without its server. Nothing is said until the file can be read, or cannot."""
    file, files = tmp_path / "tsproxy.yaml", certificates.issue("localhost")
    pipe = tmp_path / "cert.pem"
    shutil.copy(files.certificate, pipe)
    text = text_of(kafka_440, replace(files, certificate=pipe), put(tmp_path / "token", TOKEN))
    file.write_text(text)
    async with RunningProxy(config=file, arguments=arguments) as proxy:
        pipe.unlink()
        os.mkfifo(pipe)
        put(file, text + "log: { level: debug }\n")
        hang_up(proxy)
        await asyncio.sleep(2)
        for number in range(20):
            await asyncio.wait_for(asked(proxy, number), PATIENCE_S)
        assert (await page(proxy.admin_address, "/livez"))[0] == 200
        assert not {"config_reloaded", "config_not_reloaded"} & set(events(proxy))

        async def is_over():
            with contextlib.suppress(OSError):  # nobody reads it now
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            return "config_not_reloaded" in events(proxy)

        await until(is_over)
        await asked(proxy, 21)


async def asked(proxy, number):
    """The answer to ApiVersions, on a connection of its own."""
    async with await connect(proxy.bootstrap_servers) as client:
        answer = await client.frame(request(API_VERSIONS, correlation_id=number))
    assert int.from_bytes(answer[:4], "big") == number


NOBODY = Address(HOST, 1)


def login(secret):
    return Sasl(SaslMechanism.PLAIN, Password("tsproxy", secret))


async def own_connection(secret, _):
    async with connected(NOBODY, None, login(secret)):
        pass


async def own_producer(secret, _):
    upstream = Upstream((NOBODY,), sasl=login(secret))
    async with connected_producer(upstream, None, "tsproxy"):
        pass


async def token_of_an_issuer(secret, _):
    await token_provider(ClientCredentials(f"http://{NOBODY}", "tsproxy", secret)).token()


async def certificate_that_changed(secret, files):
    tls = ServerTls(certificate=files.certificate, key=files.key, key_password=secret)
    sources = Sources("admin.tls", tls)
    contents = {file: file.read_bytes() for file in sources.files.values()}
    credentials = Credentials(sources, Copy((), contents, None))
    while not await credentials.use_changed():
        pass


async def request_of_a_reader(secret, _):
    await Reading().knows(secret, [("authorization", "Bearer x")])


USES = {
    own_connection: "password",
    own_producer: "password",
    token_of_an_issuer: "client_secret",
    certificate_that_changed: "key_password",
    request_of_a_reader: "token",
}
AT_THE_START = {"salt"}


def test_each_secret_of_a_file_is_used_below():
    secrets = {key.path.rpartition(".")[2] for key in KEYS if key.kind.is_secret}
    assert {name for name in secrets if not name.endswith("_file")} == {*USES.values()} | AT_THE_START


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
async def test_a_secret_s_file_that_stands_still_keeps_only_its_user_waiting(tmp_path, certificates, use):
    """The loop turns while the file is read, else only `rescue` writes to the pipe."""
    pipe, is_rescued = tmp_path / "secret", []
    os.mkfifo(pipe)

    def written():
        with contextlib.suppress(OSError):  # nobody reads it yet
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, b"x")
            os.close(descriptor)
            return True

    rescue = threading.Timer(5, lambda: is_rescued.append(written()))
    rescue.start()

    async def used():
        with contextlib.suppress(Exception):  # nobody is there
            await use(SecretFile(str(pipe)), certificates.issue("localhost"))

    async with beside(used()):
        await until(lambda: written() or is_rescued)
    rescue.cancel()
    assert not is_rescued
