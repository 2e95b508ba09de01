"""Dead letters without a broker: what one tells, how many wait, and how often and how fast they are sent."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

import pytest
import structlog
from aiokafka.errors import InvalidTimestampError, NotEnoughReplicasError, TopicAuthorizationFailedError
from aiokafka.producer.message_accumulator import BatchBuilder

from tests.config.files import SMALLEST, config_of
from tests.planted import traces
from tests.proxy.world import PATIENCE_S, until
from tests.session.conversation import NOW_MS, PEER, Session, view_by
from tests.session.messages import produce
from tests.wire.batches import batch, record
from tsproxy.clock import Clock
from tsproxy.decisions import Privacy
from tsproxy.decisions.privacy import Redaction
from tsproxy.model.addresses import Address
from tsproxy.model.view import SessionLimits
from tsproxy.proxy.dead_letters import sender as of_sender
from tsproxy.proxy.dead_letters.drops import DropReason
from tsproxy.proxy.dead_letters.records import CHUNK_BYTES, chunks_of
from tsproxy.proxy.dead_letters.sender import REJECTIONS, REST, DeadLetters, Waiting
from tsproxy.session.effects import EmitDead
from tsproxy.testing.ports import free_ports

ALICE = replace(PEER, principal="User:alice-planted")
CONFIG = config_of(SMALLEST + "policy: { defaults: { dead_letters: yes } }\ndead_letters: { topic: d }\n")
US = NOW_MS * 1_000


def rejected(*times, value=b"value", **header):
    """A batch as a session hands it on."""
    asked = produce({"t": {0: batch(times, value=value, **header)}})
    effects = Session(ALICE, view_by("keep", dead_letters=True)).client_bytes(asked, NOW_MS)
    [dead] = [effect.batch for effect in effects if isinstance(effect, EmitDead)]
    return replace(dead, peer=ALICE)


def test_of_a_header_that_the_record_has_as_well_the_last_one_is_the_proxys():
    own = record(0, 0, headers=[(b"tsproxy-rule", b"mine"), (b"from", b"client")])
    [[letter]] = chunks_of(rejected(US, records=[own]), SessionLimits(), Privacy())
    assert letter.headers[:2] == [("tsproxy-rule", b"mine"), ("from", b"client")]
    assert dict(letter.headers)["tsproxy-rule"] == b"keep"


@pytest.mark.parametrize("how", Redaction)
def test_the_privacy_of_decisions_holds_for_the_principal_of_a_dead_letter(how):
    privacy = Privacy(principals=how, salt=b"salt")
    [[letter]] = chunks_of(rejected(US), SessionLimits(), privacy)
    told = dict(letter.headers)
    assert bool(traces(told, {"principal": "alice-planted"})) is (how is Redaction.KEEP)
    hashed = privacy.principal(ALICE.principal)
    assert told.get("tsproxy-principal") == (None if hashed is None else hashed.encode())


@pytest.mark.parametrize(("most_bytes", "most_records"), [(2, 99), (99, 2)])
def test_what_waits_is_bounded_by_bytes_and_by_records_and_counts_until_it_is_done(most_bytes, most_records):
    waiting, one = Waiting(), replace(rejected(US), records=b"x")
    assert [waiting.put(one, most_bytes, most_records) for _ in range(3)] == [True, True, False]
    assert (waiting.bytes, waiting.records) == (2, 2)
    waiting.done()
    assert waiting.put(one, most_bytes, most_records)


FOR_EVER_S = 3_600


@pytest.fixture
def sender():
    nowhere = replace(CONFIG.upstream, bootstrap_servers=(Address("127.0.0.1", free_ports(1)[0]),))
    return DeadLetters(replace(CONFIG, upstream=nowhere), None, Privacy(), Clock(), lambda: False)


async def test_where_nothing_waits_the_end_waits_for_no_broker(sender):
    sender.start()
    async with asyncio.timeout(PATIENCE_S):
        await sender.stop(FOR_EVER_S, asyncio.Event())
    assert set(sender.drops.counts.values()) == {0}


@pytest.mark.parametrize(("patience_s", "is_in_a_hurry"), [(FOR_EVER_S, True), (0, False)])
async def test_what_waits_at_the_end_is_lost_and_counted(sender, patience_s, is_in_a_hurry):
    """Somebody in a hurry need not wait for it."""
    sender.start()
    sender.enqueue(rejected(US))
    stop_now = asyncio.Event()
    if is_in_a_hurry:
        stop_now.set()
    async with asyncio.timeout(PATIENCE_S):
        await sender.stop(patience_s, stop_now)
    assert sender.drops.counts[DropReason.STOPPED] == 1


async def test_after_a_reload_without_the_section_nothing_more_is_taken(sender):
    sender.apply(config_of(SMALLEST))
    sender.enqueue(rejected(US))
    assert sender.waiting.first is None
    assert list(sender.collect()) == []


class Broker:
    """A producer whose broker takes its time, and rejects as it is told to."""

    def __init__(self, takes_s=0.0, error=None):
        self.began_s = []
        self.found = 0
        self.upstreams = []
        self.answers(takes_s, error)

    def answers(self, takes_s=0.0, error=None):
        self._answered = (takes_s, error)

    @asynccontextmanager
    async def connected(self, upstream, *_, **__):
        self.upstreams.append(upstream)
        yield self

    async def partitions_for(self, topic):
        self.found += 1
        return {0}

    def create_batch(self):
        return BatchBuilder(2 * CHUNK_BYTES, 0)

    async def send_batch(self, packed, topic, *, partition):
        loop = asyncio.get_running_loop()
        self.began_s.append(loop.time())
        takes_s, error = self._answered
        await asyncio.sleep(takes_s)
        answer = loop.create_future()
        answer.set_exception(error) if error else answer.set_result(None)
        return answer


@asynccontextmanager
async def sending(monkeypatch, broker):
    monkeypatch.setattr(of_sender, "connected_producer", broker.connected)
    monkeypatch.setattr(of_sender, "RETRY_MS", 10)
    letters = DeadLetters(CONFIG, None, Privacy(), Clock(), lambda: False)
    letters.start()
    try:
        yield letters
    finally:
        await letters.stop(0, asyncio.Event())


@pytest.mark.parametrize(
    ("dead", "reason"),
    [
        (rejected(US, US, crc=1), DropReason.WHOLE_BATCH),
        (replace(rejected(US, US), topic="d"), DropReason.OWN_TOPIC),
    ],
)
async def test_a_batch_that_cannot_be_copied_is_counted_and_never_waits(dead, reason):
    """Batches for the dead letter topic itself are not copied into it."""
    letters = DeadLetters(CONFIG, None, Privacy(), Clock(), lambda: False)
    letters.enqueue(dead)
    assert {name: count for name, count in letters.drops.counts.items() if count} == {reason: 2}
    assert letters.waiting.first is None


async def test_the_copies_of_a_batch_take_at_most_a_quarter_of_the_time(monkeypatch):
    """After each chunk the sender rests for three times as long as it took."""
    broker = Broker(takes_s=0.03)
    async with sending(monkeypatch, broker) as letters:
        letters.enqueue(rejected(*[US] * 4, value=bytes(CHUNK_BYTES * 3 // 4)))
        await until(lambda: letters.sent == 4)
    assert len(broker.began_s) == 4
    assert min(after - before for before, after in pairwise(broker.began_s)) >= 0.03 * (1 + REST)


async def test_records_that_need_more_bytes_than_their_texts_are_all_sent(monkeypatch):
    """900 names of one letter have three times their size. A batch that did not fit was tried for ever."""
    headed = [record(0, n, headers=[(b"n", None)] * 900) for n in range(100)]
    broker = Broker()
    async with sending(monkeypatch, broker) as letters:
        letters.enqueue(rejected(*[US] * 100, records=headed))
        await until(lambda: letters.sent == 100)
    assert len(broker.began_s) > 1


async def test_a_record_with_very_many_headers_is_dropped_and_the_next_is_sent(monkeypatch):
    records = [record(0, n, headers=[(b"", b"")] * (50_000 if n == 1 else 3)) for n in range(3)]
    async with sending(monkeypatch, Broker()) as letters:
        letters.enqueue(rejected(US, US, US, records=records))
        await until(lambda: letters.waiting.first is None)
        assert (letters.sent, letters.drops.counts[DropReason.TOO_LARGE]) == (2, 1)


@pytest.mark.parametrize("error", [InvalidTimestampError(), AssertionError("a bug")])
async def test_copies_are_dropped_after_three_errors_that_waiting_does_not_cure(monkeypatch, error):
    """Be it our own: the next batch is tried."""
    broker = Broker(error=error)
    async with sending(monkeypatch, broker) as letters:
        letters.enqueue(rejected(US))
        letters.enqueue(rejected(US, US))
        await until(lambda: letters.drops.counts[DropReason.REJECTED] == 3)
    assert (len(broker.began_s), letters.sent) == (2 * REJECTIONS, 0)


@pytest.mark.parametrize("error", [TopicAuthorizationFailedError(), NotEnoughReplicasError()])
async def test_only_an_accepted_copy_ends_the_trouble_of_one_that_was_not(monkeypatch, error):
    """The topic can be found meanwhile, as after each new connection."""

    def told():
        return [line["event"] for line in log if line["event"] != "dead_letters_lost"]

    broker = Broker(error=error)
    monkeypatch.setattr(of_sender, "POLL_INTERVAL_S", 0.01)
    with structlog.testing.capture_logs() as log:
        async with sending(monkeypatch, broker) as letters:
            await until(lambda: up_of(letters))
            for count in (3, 6):
                letters.enqueue(rejected(US))
                await until(lambda count=count: broker.found > count and len(broker.began_s) >= count)
                assert told() == ["dead_letters_failed"]
                assert (up_of(letters), len(letters.warnings())) == (0, 1)
            broker.answers()
            letters.enqueue(rejected(US))
            await until(lambda: letters.sent)
            assert (up_of(letters), letters.warnings()) == (1, [])
    assert told() == ["dead_letters_failed", "dead_letters_resumed"]


async def test_nothing_is_said_of_another_topic_that_has_rejected_no_copy(monkeypatch):
    monkeypatch.setattr(of_sender, "POLL_INTERVAL_S", 0.01)
    async with sending(monkeypatch, Broker(error=TopicAuthorizationFailedError())) as letters:
        letters.enqueue(rejected(US))
        await until(lambda: letters.waiting.first is None)
        assert letters.warnings() != []
        letters.apply(replace(CONFIG, dead_letters=replace(CONFIG.dead_letters, topic="other")))
        await until(lambda: up_of(letters))


async def test_a_copy_goes_to_a_partition_of_the_topic_that_it_is_sent_to(monkeypatch):
    """A reload to a topic with fewer partitions came between the count of them and the copy."""

    class Reloading(Broker):
        partitions = MappingProxyType({"d": 12, "other": 1})

        async def partitions_for(self, topic):
            return set(range(self.partitions[topic]))

        def create_batch(self):
            letters.apply(replace(CONFIG, dead_letters=replace(CONFIG.dead_letters, topic="other")))
            return super().create_batch()

        async def send_batch(self, packed, topic, *, partition):
            copies.append(partition < self.partitions[topic])
            return await super().send_batch(packed, topic, partition=partition)

    copies = []
    async with sending(monkeypatch, Reloading()) as letters:
        letters.enqueue(replace(rejected(US), partition=7))
        await until(lambda: letters.sent == 1)
    assert copies == [True]


def up_of(letters):
    [value] = [s.value for f in letters.collect() for s in f.samples if s.name == "tsproxy_dead_letters_up"]
    return value


async def test_a_reload_with_another_upstream_is_followed_at_once_and_back(monkeypatch):
    broker, first = Broker(), CONFIG.upstream
    other = replace(first, bootstrap_servers=(Address("127.0.0.1", 1),))
    async with sending(monkeypatch, broker) as letters:
        await until(lambda: broker.upstreams)
        for upstream in (other, first):
            letters.apply(replace(CONFIG, upstream=upstream))
            await until(lambda upstream=upstream: broker.upstreams[-1] == upstream)
        letters.enqueue(rejected(US))
        await until(lambda: letters.sent == 1)
    assert broker.upstreams == [first, other, first]
