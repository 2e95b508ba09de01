"""The memory that names of clients leave behind (`kept.py`).

A client sends thousands of long names of every kind. Names of logins: `tests/e2e/test_principals.py`.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from datetime import timedelta
from itertools import count

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.attacks.attacker import HOST, PATIENCE_S
from tests.attacks.kept import (
    MARK,
    MARKED_NETWORK,
    OLD_IS_BAD,
    assert_little_is_kept,
    kept_by_path,
    proxy_in_this_process,
    strange_names,
    too_much,
)
from tests.full_only import IS_FULL
from tests.kit.client import connect
from tests.proxy.test_proxy_protocol import tcp6
from tests.session.messages import produce, request
from tests.wire.batches import batch, unsigned
from tsproxy.clock import Clock
from tsproxy.model.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tsproxy.wire import k00_produce

NAMES = 10_000 if IS_FULL else 2_000
"""The names of each kind that one session sends. The rarest kind has 40 names, which are long: four times the
memory that `too_much` allows."""
GREETINGS = 10_000 if IS_FULL else 300
"""The connections with names that come before Kafka's protocol, one of each kind in a connection. Each costs
10 ms with the client, most of it a TLS handshake. A place that keeps 300 addresses of 70 bytes has twice
GREETED_ELSEWHERE."""
GREETED_ELSEWHERE = 10 << 10
STAY = 20
"""So many of them stay open while the walk looks."""

SETTINGS = """
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners: [{{ bind: "127.0.0.1:0" }}]"""


async def sent_by(port, frames, at_once=20):
    """The connection of a client that has sent these frames and has all answers. It stays open."""
    client = await connect(f"{HOST}:{port}")
    for start in range(0, len(frames), at_once):
        some = frames[start : start + at_once]
        await client.frame(b"".join(some))
        async with asyncio.timeout(PATIENCE_S):
            for _ in some[1:]:
                await client.read()
    return client


def frames_of_session(records):
    """Requests with names of every kind, and of which a few are rejected here."""
    names = strange_names("topic")
    valid = (f"{MARK}valid-{n}-".ljust(249, "t") for n in count())
    for n in range(NAMES // 40):
        yield produce({next(names): {0: records} for _ in range(20)}, correlation_id=n)
    for n in range(5):  # few requests: for each with a new topic, the proxy asks for all that it knows
        yield produce({next(valid): {0: records} for _ in range(NAMES // 10)}, correlation_id=n)
    for n, name in zip(range(NAMES // 20), strange_names("client"), strict=False):
        yield produce({"t": {0: records}}, correlation_id=n, client_id=name.replace("\U0001f600", "y"))
    for n, name in zip(range(NAMES // 50), strange_names("transaction"), strict=False):
        yield produce({"t": {0: records}}, correlation_id=n, transactional_id=name)
    for n, name in zip(range(NAMES // 50), strange_names("software"), strict=False):
        text = name.replace("\U0001f600", "z")[:20_000].encode()
        yield request(18, 3, (_compact(text) + _compact(b"1")) + b"\x00", correlation_id=n)

    yield from frames_that_are_only_relayed()


def frames_that_are_only_relayed():
    """Names that the proxy has no need to read, and ids of topics."""
    some = NAMES // 5
    for start in range(0, NAMES, some):
        groups, instances, transactions, topics = (
            [f"{MARK}{kind}-{n}-".ljust(200, "n") for n in range(start, start + some)]
            for kind in ("group", "instance", "transactional", "asked")
        )
        ids = [MARK.encode() + n.to_bytes(11, "big") for n in range(start, start + some)]
        yield request(15, 0, _array(groups))
        yield request(
            13, 3, _string("group") + _array(instances, of=lambda name: _string("m") + _string(name))
        )
        yield request(
            65, 0, unsigned(some + 1) + b"".join(_compact(each.encode()) for each in transactions) + b"\0"
        )
        yield request(3, 4, _array(topics) + b"\0")
        fetched = b"".join(
            each + b"\2" + struct.pack(">iiqiqi", 0, -1, 0, -1, -1, 1) + b"\0\0" for each in ids
        )
        settings = struct.pack(">iiiibii", -1, 0, 0, 1 << 20, 0, 0, -1)
        yield request(1, 13, settings + unsigned(some + 1) + fetched + b"\1\1\0")
        asked = ProduceRequest(
            transactional_id=None,
            acks=-1,
            timeout_ms=1_000,
            topics=tuple(
                TopicProduceData("", (PartitionProduceData(0, None),), topic_id=each) for each in ids
            ),
        )
        yield request(0, 13, k00_produce.write_request(13, asked))


def _string(text):
    return struct.pack(">h", len(text)) + text.encode()


def _array(texts, of=_string):
    return struct.pack(">i", len(texts)) + b"".join(map(of, texts))


async def ask_admin_port(address):
    """Paths, headers and hosts that nobody knows."""
    for n in range(NAMES // 50):
        path = f"/{MARK}path-{n}-".ljust(3_000, "p")
        asked = f"GET {path} HTTP/1.1\r\nHost: {MARK}host-{n}\r\n{MARK}header-{n}: {MARK}\r\n\r\n"
        async with await connect(address) as client, asyncio.timeout(PATIENCE_S):
            client.send(asked.encode())
            await client.rest()


def _compact(text):
    return unsigned(len(text) + 1) + text


async def test_names_of_clients_leave_little_memory_and_nobody_keeps_them_whole(kafka_440, tmp_path):
    text = (SETTINGS + OLD_IS_BAD).format(servers=kafka_440.bootstrap_servers, folder=tmp_path / "log")
    async with proxy_in_this_process(text) as proxy:
        port = proxy._listeners[0].address.port
        bad = batch([Clock().now_ms() - 86_400_000])
        client = await sent_by(port, list(frames_of_session(bad)))
        await ask_admin_port(proxy._admin_address)
        while_open = kept_by_path(proxy)
        client.close()
        once_closed = kept_by_path(proxy)
    assert_little_is_kept(while_open, once_closed)


GREETED = """
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners:
  - bind: "127.0.0.1:0"
    advertised_host: localhost
    proxy_protocol: {{ version: v2, from: [127.0.0.1] }}
    tls: {{ certificate: '{own.certificate}', key: '{own.key}', client_ca: '{ca}', client_auth: required }}"""


class Greeter:
    """Connects with a strange address, host name and subject of a certificate, and sends one bad record."""

    def __init__(self, port, authority, file, topic):
        self._authority, self._file, self._port = authority, file, port
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._pem = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._bad = produce({topic: {0: batch([Clock().now_ms() - 86_400_000])}})

    def connection(self, n):
        """The connection number `n` after its answer; None if it was closed instead."""
        plain = socket.create_connection((HOST, self._port), PATIENCE_S)
        plain.sendall(tcp6(f"{MARKED_NETWORK}:{n >> 16:x}:{n & 0xFFFF:x}::{n + 1:x}"))
        host = ".".join([f"{MARK}sni-{n}".ljust(63, "s"), "s" * 63, "s" * 63, "kafka.test"])
        try:
            connection = self._context(n).wrap_socket(plain, server_hostname=host)
            connection.sendall(self._bad)
            if connection.recv(4):
                return connection
        except OSError:
            plain.close()
        return None

    def _context(self, n):
        """A subject. Every seventh one is too long for a principal."""
        size = 4_000 if n % 7 == 0 else 900
        text = f"{MARK}subject-{n}-".ljust(size, "\U0001f600" if n % 7 == 1 else "x")
        parts = [text[start : start + 60] for start in range(0, min(size, 900), 60)] if n % 3 else [text]
        subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, each) for each in parts])
        day = timedelta(days=1)
        builder = self._authority._builder(subject, self._key.public_key(), -day, 2 * day)
        self._file.write_bytes(self._authority._signed(builder) + self._pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(self._file)
        return context


async def test_addresses_host_names_and_subjects_of_certificates_leave_little_memory(
    kafka_440, certificates, tmp_path, topic
):
    await kafka_440.create_topic(topic)  # an unknown one is asked for again by each connection
    text = (GREETED + OLD_IS_BAD).format(
        servers=kafka_440.bootstrap_servers,
        folder=tmp_path / "log",
        own=certificates.issue("proxy-of-greetings"),
        ca=certificates.certificate,
    )
    async with proxy_in_this_process(text) as proxy:
        greeter = Greeter(proxy._listeners[0].address.port, certificates, tmp_path / "client.pem", topic)
        answered = 0
        with contextlib.ExitStack() as stack:
            for n in range(GREETINGS):
                if (connection := await asyncio.to_thread(greeter.connection, n)) is None:
                    continue
                answered += 1
                if n < GREETINGS - STAY:
                    connection.close()
                else:
                    stack.enter_context(connection)
            while_open = kept_by_path(proxy)
        once_closed = kept_by_path(proxy)
    assert answered > GREETINGS / 2, "most are clients, with principals"
    assert_little_is_kept(while_open, once_closed, most_elsewhere=GREETED_ELSEWHERE)


def test_a_container_that_nobody_thought_of_is_found():
    class Holder:
        def __init__(self):
            self.names = {name: n for n, name in zip(range(100), strange_names("held"), strict=False)}

    class Proxy:
        def __init__(self):
            self.parts = [Holder()]

    (path,) = too_much(kept_by_path(Proxy()))
    assert path.endswith("list > Holder > dict")
