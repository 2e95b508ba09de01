"""One connection of the proxy's own to each broker."""

import asyncio
import contextlib

import pytest

from tests.kit.tasks import beside
from tests.proxy.world import until
from tsproxy.cluster.admin_connection import ConversationError, RejectedError, TopicAnswer
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ErrorCode
from tsproxy.proxy.brokers import links
from tsproxy.proxy.brokers.links import BrokerLink


async def test_a_login_that_was_rejected_is_not_repeated_as_fast_as_clients_come():
    """Brokers count logins that fail, and may lock the user out: 289 in 6 s were seen."""
    tried = []

    @contextlib.asynccontextmanager
    async def rejected(address, _on_end):
        tried.append(address)
        raise RejectedError(f"{address}: the password is wrong")
        yield

    link = BrokerLink(1, Address("kafka-1", 9092), rejected, lambda: None, lambda: None)
    async with beside(link.run()):
        for _ in range(1_000):
            link.client_connected()
            await asyncio.sleep(0)
    assert len(tried) == 1


class Answering:
    """A connection whose broker answers while `answers` is set."""

    has_ended = False

    def __init__(self):
        self.answers = asyncio.Event()
        self.answers.set()
        self.asked = self.authorizer_asked = 0
        self.authorizes = False
        self.described = 0

    async def offers(self):
        self.asked += 1
        await self.answers.wait()

    async def describe(self, _topics):
        self.described += 1
        return []

    async def has_authorizer(self, _node_id):
        self.authorizer_asked += 1
        return self.authorizes


class Describing(Answering):
    error_code = ErrorCode.NONE

    async def describe(self, topics):
        values = {} if self.error_code else {"max.message.bytes": "1"}
        return [TopicAnswer(topic, self.error_code, values) for topic in topics]


@pytest.fixture
async def link(monkeypatch):
    monkeypatch.setattr(links, "HANG_RECHECK_S", 0.0)
    connection = Answering()

    @contextlib.asynccontextmanager
    async def connect(_address, _on_end):
        yield connection

    link = BrokerLink(7, Address("kafka-7", 9092), connect, lambda: None, lambda: None)
    async with beside(link.run()):
        await until(lambda: link.connection)
        yield link


async def test_a_broker_that_answers_us_does_not_hang_however_long_a_client_waits(link):
    for times in range(1, 6):
        link.suspect_hang()
        await until(lambda times=times: link.connection.asked == times and link._hang_check is None)
    assert link.warning() is None
    assert link.connection.described == 1, "a doubt does not ask for all topics"


async def test_a_broker_hangs_if_it_answers_neither_a_client_nor_us_and_until_it_answers(link, monkeypatch):
    monkeypatch.setattr(links, "HANG_CHECK_S", 0.02)
    link.connection.answers.clear()
    link.suspect_hang()
    await until(link.warning)
    assert "broker 7 does not answer (kafka-7:9092)" in link.warning()
    link.connection.answers.set()
    await until(lambda: link.warning() is None)


async def test_a_broker_is_asked_once_for_the_doubts_of_all_clients(link, monkeypatch):
    monkeypatch.setattr(links, "HANG_RECHECK_S", 60.0)
    link._answered_s = float("-inf")
    for _ in range(100):
        link.suspect_hang()
        await asyncio.sleep(0)
    assert link.connection.asked == 1


async def test_a_broker_that_has_not_told_its_limits_is_a_warning_until_it_does(monkeypatch):
    monkeypatch.setattr(links, "FIRST_RETRY_MS", 1)
    is_reachable, made = False, []

    @contextlib.asynccontextmanager
    async def connect(address, on_end):
        if not is_reachable:
            raise ConversationError(f"{address}: no route")
        connection = Describing()
        made.append((connection, on_end))
        yield connection

    link = BrokerLink(7, Address("kafka-7", 9092), connect, lambda: None, lambda: None)
    link.query(("orders",))
    async with beside(link.run()):
        text = await until(link.values_unknown)
        assert text.startswith("broker 7 has not told its limits")
        assert text.endswith("kafka-7:9092: no route")
        is_reachable = True
        await until(lambda: link.given)
        assert link.values_unknown() is None
        is_reachable, [(connection, on_end)] = False, made
        connection.has_ended = True
        on_end()
        await until(lambda: link.connection is None)
        assert link.given
        link.client_connected()
        assert link.given is None, "it may have come back with other limits"


async def test_values_that_a_broker_shows_no_more_are_not_confirmed_and_end_with_its_connection(monkeypatch):
    """A good record was rejected by old values, as long as the topic was named that showed them once."""
    monkeypatch.setattr(links, "FIRST_RETRY_MS", 1)
    made = []

    @contextlib.asynccontextmanager
    async def connect(_address, on_end):
        made.append((Describing(), on_end))
        yield made[-1][0]

    link = BrokerLink(7, Address("kafka-7", 9092), connect, lambda: None, lambda: None)
    link.query(("orders",))
    async with beside(link.run()):
        await until(lambda: link.given)
        assert link.is_confirmed
        monkeypatch.setattr(Describing, "error_code", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        link.query(("orders",))
        await link.is_settled.wait()
        assert link.given
        assert not link.is_confirmed
        [(connection, on_end)] = made
        connection.has_ended = True
        on_end()
        await until(lambda: link.given is None)


async def test_a_broker_is_asked_once_a_connection_whether_anybody_may_write(link):
    """Another broker, or the same with an authorizer, may be there after the connection has ended."""
    assert not link.is_open_to_all
    for _ in range(3):
        link.ask_authorizer()
        link.query(("orders",))
        await link.is_settled.wait()
    assert link.is_open_to_all
    assert link.connection.authorizer_asked == 1
    link.connection = None
    link.client_connected()
    assert not link.is_open_to_all
