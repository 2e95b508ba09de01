"""A record is stored, the answer to it is lost, and another record of the same producer is rejected.

producer-clients.md says what each client does then. It is the client's doing: librdkafka does the same with
the broker alone. Brokers, proxies and clients are real ones. A relay before them loses the answer.
"""

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from confluent_kafka import KafkaError, Producer
from kafka import KafkaProducer
from kafka.errors import InvalidTimestampError

from tests.clients.families import FAMILIES
from tests.clients.program import running
from tests.kit.relay import Relays
from tsproxy.clock import Clock
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.proxy import RunningProxy

HERE = "127.0.0.1"
DELIVERED, REFUSED = b"delivered-record", b"refused-record"
_SIZE_BYTES = 4
_NOTICED_S = 1.0
"""A client needs less to notice that its connection has ended."""
_PRODUCE = b"\x00\x00"


class LostAnswer(Relays):
    """A relay that loses one answer: the broker has stored a record, and its producer is not told.

    It listens on another address of this machine, 127.0.0.NUMBER, on the same port, and says that address in
    what it carries: so a client comes through it whichever address it is told. Everything else passes as it
    came, with two exceptions. The answer to the first Produce request that holds `DELIVERED` is kept back,
    and its connection ends. Requests with that record which come again end their connections, too, until a
    request that holds `REFUSED` has been answered: the network is bad for just so long.

    No connection ends while `REFUSED` waits for its answer. Otherwise the client would send both records
    again at the same time, and neither would ever come through.

    `is_lost` is set when the client knows that the connection ended without the answer, `is_refused` when the
    other record was answered.
    """

    def __init__(self, number):
        self._here = f"127.0.0.{number}"
        assert len(self._here) == len(HERE)
        super().__init__(self._here, [HERE])
        self._is_cut = False
        self._waiting = defaultdict(list)
        self.is_lost = asyncio.Event()
        self.is_refused = asyncio.Event()
        self.sent = []
        """The record of each Produce request that was forwarded, in order."""

    async def on(self, servers):
        """Relay to this server; the address for clients."""
        port = int(servers.rpartition(":")[2])
        await self.open([port])
        return f"{self._here}:{port}"

    async def _requests(self, link, reader, writer):
        while True:
            frame = await _frame(reader)
            record = _record_of(frame)
            if record == DELIVERED and self._is_cut and not self.is_refused.is_set():
                if REFUSED in self._waiting[link]:
                    await self.is_refused.wait()
                raise ConnectionError
            if record is not None:
                self.sent.append(record)
            self._waiting[link].append(record)
            writer.write(frame)

    async def _answers(self, link, reader, writer):
        while True:
            frame = await _frame(reader)
            record = self._waiting[link].pop(0)
            if record == DELIVERED and not self._is_cut:
                self._is_cut = True
                asyncio.get_running_loop().call_later(_NOTICED_S, self.is_lost.set)
                raise ConnectionError
            if record == REFUSED:
                self.is_refused.set()
            writer.write(frame.replace(HERE.encode(), self._here.encode()))


async def _frame(reader):
    size = await reader.readexactly(_SIZE_BYTES)
    return size + await reader.readexactly(int.from_bytes(size, "big"))


def _record_of(frame):
    """DELIVERED or REFUSED, if this is a Produce request that holds it."""
    if not frame.startswith(_PRODUCE, _SIZE_BYTES):
        return None
    return next((record for record in (DELIVERED, REFUSED) if record in frame), None)


PATIENCE_S = 120
BACKOFF_MS = 5_000
"""A client waits so long before it sends a record again. In this time the other record is rejected."""
FAR_AHEAD_MS = 10 * 365 * 86_400_000
[JAVA] = [family for family in FAMILIES if family.name == "java"]


def times_ms():
    """The values of the record that is delivered, and of the one that is rejected."""
    now_ms = Clock().now_ms()
    return now_ms, now_ms + FAR_AHEAD_MS


async def until_lost(relay):
    async with asyncio.timeout(PATIENCE_S):
        await relay.is_lost.wait()


async def by_librdkafka(servers, relay, topic):
    """The code of each delivery report, None without an error."""
    good_ms, bad_ms = times_ms()
    told = {}
    options = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0, "log_level": 0}
    options |= {"retry.backoff.ms": BACKOFF_MS, "retry.backoff.max.ms": BACKOFF_MS}
    producer = Producer(options)

    def report(error, message):
        told[message.value()] = error and error.code()

    producer.produce(topic, DELIVERED, partition=0, timestamp=good_ms, on_delivery=report)
    await until_lost(relay)
    producer.produce(topic, REFUSED, partition=1, timestamp=bad_ms, on_delivery=report)
    assert await asyncio.to_thread(producer.flush, PATIENCE_S) == 0
    return told[DELIVERED], told[REFUSED]


async def by_java(servers, relay, topic):
    """The texts of both callbacks."""
    good_ms, bad_ms = times_ms()
    backoff = {"retry.backoff.ms": str(BACKOFF_MS), "retry.backoff.max.ms": str(BACKOFF_MS)}
    async with running(JAVA, "4.4.0", ClientOptions(servers)) as program:
        for name, value in backoff.items():
            program.option(name, value)
        await program.do("connect")
        await program.do("send", topic, 0, DELIVERED.decode(), good_ms)
        await until_lost(relay)
        await program.do("send", topic, 1, REFUSED.decode(), bad_ms)
        told = await program.do("told")
        await program.do("close")
    return tuple(told)


async def by_kafka_python(servers, relay, topic):
    """The exceptions of both futures."""
    good_ms, bad_ms = times_ms()

    def connected():
        return KafkaProducer(bootstrap_servers=servers, enable_idempotence=True, retry_backoff_ms=BACKOFF_MS)

    producer = await asyncio.to_thread(connected)

    def send(value, partition, time_ms):
        return asyncio.to_thread(producer.send, topic, value, partition=partition, timestamp_ms=time_ms)

    delivered = await send(DELIVERED, 0, good_ms)
    await until_lost(relay)
    refused = await send(REFUSED, 1, bad_ms)
    await asyncio.to_thread(producer.close, PATIENCE_S)
    return type(delivered.exception), type(refused.exception)


SCENES = {
    "librdkafka and the broker alone": by_librdkafka,
    "librdkafka and the proxy": by_librdkafka,
    "java and the proxy": by_java,
    "kafka-python and the broker alone": by_kafka_python,
}


async def play(number, name, kafka):
    topic = f"sent-twice-{name.replace(' ', '-')}"
    await kafka.create_topic(topic, partitions=2)
    async with AsyncExitStack() as stack:
        relay = LostAnswer(number)
        stack.push_async_callback(relay.close)
        servers = [kafka.bootstrap_servers]
        if "proxy" in name:
            proxy = await stack.enter_async_context(RunningProxy(*servers))
            brokers = proxy.facts["brokers"]["default"].values()
            servers = [proxy.bootstrap_servers, *[f":{port}" for port in brokers]]
        addresses = [await relay.on(each) for each in servers]
        told = await SCENES[name](addresses[0], relay, topic)
    return told, relay.sent, await kafka.end_offsets(topic)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scenes(kafka_440):
    """Name -> what the client was told, which records came through the relay, the ends of both partitions."""
    played = await asyncio.gather(*[play(number, name, kafka_440) for number, name in enumerate(SCENES, 2)])
    return dict(zip(SCENES, played, strict=True))


@pytest.mark.parametrize("way", ["the broker alone", "the proxy"])
def test_librdkafka_stores_the_record_twice_and_says_that_it_is_stored(scenes, way):
    """The rejection makes it take a new epoch, in which the broker knows nothing of the record."""
    told = None, KafkaError.INVALID_TIMESTAMP
    assert scenes[f"librdkafka and {way}"] == (told, [DELIVERED, REFUSED, DELIVERED], {0: 2, 1: 0})


def test_java_stores_the_record_once(scenes):
    """It keeps the epoch of a partition as long as a record of it is under way."""
    (delivered, refused), sent, ends = scenes["java and the proxy"]
    assert delivered == "stored"
    assert "InvalidTimestampException" in refused
    assert sent == [DELIVERED, REFUSED, DELIVERED]
    assert ends == {0: 1, 1: 0}


def test_kafka_python_stores_the_record_once_and_says_that_it_is_lost(scenes):
    """It gives up every record that is under way: whoever sends it again has it twice."""
    told = InvalidTimestampError, InvalidTimestampError
    assert scenes["kafka-python and the broker alone"] == (told, [DELIVERED, REFUSED], {0: 1, 1: 0})
