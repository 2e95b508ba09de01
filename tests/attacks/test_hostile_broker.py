"""A broker that speaks the protocol badly, to clients' connections and to the proxy's own.

It may answer anything. No client gets a broker's address from an answer that is valid by Kafka's schemas,
nothing in the proxy raises, it goes on serving its pages, and its memory is bounded.
"""

import asyncio
import struct
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pytest

from tests.attacks.any_message import LEAK, body_of
from tests.attacks.attacker import HOST, port_of, resident_mib
from tests.attacks.hostile_broker import DAMAGES, LONG_HOST, HostileBroker, metadata
from tests.full_only import IS_FULL
from tests.kit.broker import Question
from tests.proxy.running import page
from tests.session.messages import METADATA, request
from tests.wire.schemas import Versions, messages
from tsproxy.cluster import admin_connection
from tsproxy.cluster.admin_connection import MAX_BROKERS, ConversationError, connected
from tsproxy.cluster.metadata import topic_names, topic_rights
from tsproxy.cluster.newest_timestamps import newest_timestamps
from tsproxy.log_events.catalogue import BY_NAME
from tsproxy.model.addresses import Address
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire.apis import APIS

AT_ONCE = 20
PATIENCE_S = 0.5
"""A client leaves after so long."""
NAMING = (0, 1, 3, 3, 10, 32, 55, 60, 78, 79)
RAW_TOKENS = (17, 0)
"""After SaslHandshake v0, a broker sends tokens until the login is over. Nobody else can read them."""
MAX_MIB = 400.0


@dataclass
class Result:
    """`leaks`: what was asked and the bytes around an address. `wrong`: lines of the log about an error in
    our own code."""

    most_mib: float = 0.0
    leaks: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def any_request(draws: Random, correlation_id: int) -> bytes:
    """A request of any API and version that is valid by Kafka's schemas."""
    key = draws.choice((*NAMING, *APIS))
    known = Versions.of(messages()[key, "request"]["validVersions"])
    version = draws.choice(
        [v for v in range(APIS[key].max_version + 1) if v in known and (key, v) != RAW_TOKENS]
    )
    return request(key, version, body_of(key, "request", version, draws), correlation_id)


async def client(port: int, draws: Random, result: Result) -> None:
    """One connection: some requests, and all that comes back."""
    received = bytearray()
    requests = [any_request(draws, number) for number in range(draws.randint(1, 4))]
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except ConnectionError:
        return
    try:
        writer.write(b"".join(requests))
        while True:
            async with asyncio.timeout(PATIENCE_S):
                data = await reader.read(1 << 18)
            if not data:
                break
            received += data
            del received[: -(1 << 20)]
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.transport.abort()
    if LEAK in received:
        at = received.index(LEAK)
        result.leaks.append(
            f"{[each[4:8].hex() for each in requests]} {bytes(received[max(0, at - 60) : at + 60])!r}"
        )


async def run(seconds: float, seed: int, *, least: int = 0, is_valid: bool = False) -> Result:
    """One proxy, and rounds of clients for so long, and until the broker has given the least of answers.

    Damaged ones count, or with `is_valid` all: then every answer is valid by the schemas.
    """
    kinds = ("valid",) if is_valid else DAMAGES
    draws, result = Random(seed), Result()
    async with HostileBroker(seed, honest=sys.maxsize, honesty=1.0 if is_valid else 0.4) as broker:
        settings = {"upstream.admin.refresh": "1s", "limits.drain_timeout": "1s"}
        async with RunningProxy(broker.bootstrap_servers, settings=settings) as proxy:
            broker.honest = 0  # the proxy has started
            until_s = time.monotonic() + seconds
            while time.monotonic() < until_s or sum(broker.did[kind] for kind in kinds) < least:
                await asyncio.gather(*(client(port_of(proxy), draws, result) for _ in range(AT_ONCE)))
                status, _ = await page(proxy.admin_address, "/livez")
                assert status == 200
                result.most_mib = max(result.most_mib, resident_mib(proxy))
        result.wrong += [str(line) for line in proxy.log if "frames" in BY_NAME[line["event"]].fields]
    return result


pytestmark = pytest.mark.broker  # Kafka's schemas come out of its jars

ANSWERS = 50
SECONDS = 60 if IS_FULL else 2
CONVERSATIONS = 100


async def test_valid_answers_of_any_api_and_version_give_no_client_an_address():
    result = await run(seconds=SECONDS, seed=1, least=ANSWERS, is_valid=True)
    assert (result.leaks, result.wrong) == ([], [])
    assert result.most_mib < MAX_MIB


async def test_no_answer_makes_the_proxy_raise_or_stop_or_keep_what_comes():
    result = await run(seconds=SECONDS, seed=2, least=ANSWERS)
    assert result.wrong == []
    assert result.most_mib < MAX_MIB


QUESTIONS = {
    "brokers": lambda own: own.cluster(),
    "topics": lambda own: own.cluster(with_topics=True),
    "limits": lambda own: own.describe(["t"]),
    "versions": lambda own: own.offers(),
    "mechanisms": lambda own: own.sasl_mechanisms("PLAIN"),
    "names": lambda own: topic_names(own, [bytes(16)]),
    "rights": lambda own: topic_rights(own, ["t"]),
    "newest": lambda own: newest_timestamps(own, [("t", 0)]),
}


def own_connection(broker):
    return connected(broker.address, None, None)


async def converse(broker, questions, answered):
    """Asks until something cannot be read. No other error than ConversationError may come of it."""
    try:
        async with own_connection(broker) as own:
            for name in questions:
                await QUESTIONS[name](own)
                answered.append(name)
    except ConversationError:
        pass


async def test_the_proxys_own_questions_only_ever_fail_as_conversations_do(monkeypatch):
    # All conversations are at once, so on a busy machine an honest answer takes seconds.
    monkeypatch.setattr(admin_connection, "REQUEST_TIMEOUT_MS", 8_000)
    draws, answered = Random(4), []
    async with HostileBroker(4, honest=0, honesty=0.4) as broker:
        scripts = [draws.sample(list(QUESTIONS), len(QUESTIONS)) for _ in range(CONVERSATIONS)]
        await asyncio.gather(*(converse(broker, script, answered) for script in scripts))
    assert len(set(answered)) > len(QUESTIONS) / 2


def scripted(said):
    """A broker that answers Metadata by this function, and all else well."""
    return HostileBroker(1, honest=1_000, answers={METADATA: said})


def of_brokers(brokers, question):
    return question.answer(metadata(question.api_version, brokers))


def announced(size, question):
    return struct.pack(">ii", size, question.correlation_id) + bytes(100)


IMPOSSIBLE = {
    "endless brokers": (
        partial(of_brokers, [(node, b"127.0.0.1", 9_092) for node in range(MAX_BROKERS + 1)]),
        "1,001 brokers, where 1,000 are allowed",
    ),
    "a long host": (partial(of_brokers, [(1, LONG_HOST, 9_092)]), "a broker that cannot be: node 1 at"),
    "no host": (partial(of_brokers, [(1, b"", 9_092)]), "a broker that cannot be: node 1 at '':9092"),
    "a port": (partial(of_brokers, [(1, b"h", 65_536)]), "node 1 at 'h':65536"),
    "a node": (partial(of_brokers, [(-1, b"h", 9_092)]), "node -1 at 'h':9092"),
    "2 GiB": (partial(announced, 2**31 - 1), "the broker closed the connection"),
    "less than nothing": (partial(announced, -1), "the broker closed the connection"),
}


@pytest.mark.parametrize(("said", "text"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
async def test_an_answer_that_no_broker_gives_is_named_at_once_and_in_few_words(said, text):
    """Before, 20,000 brokers in 440 KB stopped the loop for more than 20 s. A host of 32 KB was logged."""
    async with scripted(said) as broker, own_connection(broker) as own:
        with pytest.raises(ConversationError) as raised:
            async with asyncio.timeout(admin_connection.REQUEST_TIMEOUT_MS / 2_000):
                await own.cluster()
    assert text in str(raised.value)
    assert len(str(raised.value)) < 500


async def test_the_largest_answer_is_read(monkeypatch):
    one = partial(of_brokers, [(1, b"h", 9_092)])
    size = len(one(Question(METADATA, 5, 1))) - 4
    async with scripted(one) as broker, own_connection(broker) as own:
        monkeypatch.setattr(admin_connection, "MAX_ANSWER_BYTES", size)
        assert (await own.cluster()).brokers == {1: Address("h", 9_092)}
        monkeypatch.setattr(admin_connection, "MAX_ANSWER_BYTES", size - 1)
        with pytest.raises(ConversationError):
            await own.cluster()
