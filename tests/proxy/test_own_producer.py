"""The proxy's own producer, before a broker that closes connections and takes no record."""

import asyncio
import json
import struct
from dataclasses import replace

import pytest

from tests.attacks.hostile_broker import metadata
from tests.config.files import SMALLEST, config_of
from tests.kit.broker import HOST, ScriptedBroker
from tests.proxy.decision_log.test_unsent import NAME, write
from tests.proxy.world import until
from tests.session.messages import API_VERSIONS, METADATA, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE
from tsproxy.cluster import kafka_producer, tokens
from tsproxy.cluster.admin_connection import AdminConnection, RejectedError, connected
from tsproxy.cluster.kafka_producer import connected_producer, read_error
from tsproxy.cluster.tokens import Token
from tsproxy.config.settings import (
    ClientCredentials,
    Password,
    Sasl,
    SaslMechanism,
    TopicSettings,
    Upstream,
)
from tsproxy.config.values import Secret, SecretFile
from tsproxy.proxy.decision_log import topic
from tsproxy.proxy.decision_log.topic import DecisionTopic

INIT_PRODUCER_ID = 22
OFFERED = {
    PRODUCE: 3,
    METADATA: 5,
    SASL_HANDSHAKE: 1,
    API_VERSIONS: 0,
    INIT_PRODUCER_ID: 0,
    SASL_AUTHENTICATE: 0,
}
PATIENCE_S = 30
MECHANISMS = struct.pack(">hih5sh11s", 0, 2, 5, b"PLAIN", 11, b"OAUTHBEARER")


class StubbornBroker(ScriptedBroker):
    """It has a login, and keeps its passwords. It closes a connection at the first record."""

    def __init__(self):
        self.passwords = []
        versions = [struct.pack(">hhh", key, 0, most) for key, most in OFFERED.items()]
        bodies = {
            API_VERSIONS: struct.pack(">hi", 0, len(versions)) + b"".join(versions),
            SASL_HANDSHAKE: MECHANISMS,
            SASL_AUTHENTICATE: struct.pack(">hhi", 0, -1, 0),
            INIT_PRODUCER_ID: struct.pack(">ihqh", 0, 0, 1, 0),
        }
        answers = {key: lambda question, body=body: question.answer(body) for key, body in bodies.items()}
        answers[METADATA] = lambda question: question.answer(
            metadata(question.api_version, [(1, HOST.encode(), self.port)])
        )
        super().__init__(answers, lambda _: None)

    def closes_at_metadata(self):
        self._answers[METADATA] = lambda _: None

    def _answer_to(self, request, number):
        if request.startswith(struct.pack(">h", SASL_AUTHENTICATE)):
            self.passwords.append(request.rpartition(b"\x00")[2].decode())
        return super()._answer_to(request, number)


@pytest.fixture
async def broker():
    async with StubbornBroker() as it:
        yield it


@pytest.fixture
def upstream(broker, tmp_path):
    (tmp_path / "password").write_text("planted-old")
    login = Password("tsproxy", SecretFile(str(tmp_path / "password")))
    return Upstream((broker.address,), sasl=Sasl(SaslMechanism.PLAIN, login))


async def test_lines_for_brokers_that_are_gone_go_to_those_of_a_reload(tmp_path, upstream, monkeypatch):
    """An idempotent producer sends them to the old brokers for ever."""
    monkeypatch.setattr(topic, "SEND_WARN_S", 0.1)
    facts = {"ts": "2027-01-15T08:00:00.000Z", "event": "counters", "v": 1, "seq": 1}
    write(tmp_path, 1, json.dumps(facts | {"proxy": "px", "boot": "boot"}).encode() + b"\n")
    lines = DecisionTopic(TopicSettings(name="t"), upstream, None, tmp_path, NAME)
    async with StubbornBroker() as other:
        lines.start()
        await until(lambda: lines.warnings(), patience_s=PATIENCE_S)
        moved = replace(upstream, bootstrap_servers=(other.address,))
        lines.apply(replace(config_of(SMALLEST), upstream=moved))
        await until(lambda: other.passwords, patience_s=PATIENCE_S)
        await lines.stop(0)


EITHER = pytest.mark.parametrize(
    "options", [{"enable_idempotence": True}, {"acks": 1}], ids=["idempotent", "plain"]
)


@EITHER
async def test_it_logs_in_with_the_password_of_today_and_leaves_nothing_behind(
    broker, upstream, tmp_path, monkeypatch, options
):
    """The record that nobody takes must neither keep the end waiting nor be sent after it."""
    monkeypatch.setattr(kafka_producer, "_CLOSE_S", 0.1)
    before = asyncio.all_tasks()
    async with connected_producer(upstream, None, "own", **options) as producer:
        assert {*broker.passwords} == {"planted-old"}
        (tmp_path / "password").write_text("planted-new")
        (await producer.send("t", b"x")).add_done_callback(read_error)
        await until(lambda: "planted-new" in broker.passwords, patience_s=PATIENCE_S)
    await until(lambda: asyncio.all_tasks() - before <= broker._tasks, patience_s=PATIENCE_S)


@EITHER
async def test_a_connection_that_is_being_opened_ends_with_its_producer(
    broker, upstream, monkeypatch, options
):
    """It would come when the broker wakes up, and send the record that was given up."""
    monkeypatch.setattr(kafka_producer, "_CLOSE_S", 1.0)  # longer than aiokafka waits before it tries again
    before, asked = asyncio.all_tasks(), []
    async with connected_producer(upstream, None, "own", **options) as producer:
        broker._answers[API_VERSIONS] = lambda question: asked.append(question) or b""
        (await producer.send("t", b"x")).add_done_callback(read_error)
        await until(lambda: asked, patience_s=PATIENCE_S)
    assert asyncio.all_tasks() - before <= broker._tasks
    await until(lambda: not broker._tasks, patience_s=1)


async def test_a_token_that_brokers_do_not_accept_any_more_is_fetched_anew(broker, monkeypatch):
    """An issuer may withdraw tokens, or change its key, long before they expire."""
    fetched = []

    def fetch(_):
        fetched.append("token")
        return Token(f"token-{len(fetched)}", 3_600_000)

    async def is_accepted(ask=AdminConnection.cluster):
        async with connected(broker.address, None, sasl) as own:
            await ask(own)

    monkeypatch.setattr(tokens, "_from_endpoint", fetch)
    monkeypatch.setattr(tokens, "REJECTED_MS", 0)
    source = ClientCredentials("http://127.0.0.1:1", "withdrawn", Secret("s"))
    sasl = Sasl(SaslMechanism.OAUTHBEARER, source)
    for _ in range(2):
        await is_accepted()
    with pytest.raises(RejectedError, match="DescribeConfigsRequest cannot be used"):
        await is_accepted(lambda own: own.describe(["t"]))  # the broker does not offer it
    assert await tokens.token_provider(source).token() == "token-1"
    broker.closes_at_metadata()
    with pytest.raises(RejectedError, match="does not accept the token"):
        await is_accepted()
    assert await tokens.token_provider(source).token() == "token-2"
