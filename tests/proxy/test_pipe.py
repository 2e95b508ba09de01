"""Whole requests are forwarded as they came, and a pipe keeps no more than what came."""

import socket
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.clocks import HandClock
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import HEARTBEAT, METADATA, produce, produced, request
from tests.wire.batches import batch
from tsproxy.proxy.pipe import Buffers, Pipe, Tally
from tsproxy.proxy.pipe.buffers import MAX_READY, READ_BYTES, SPARE
from tsproxy.session.effects import SendToBroker

KIB = 1024


class Transport:
    """Takes everything at once, by `write` or by its socket where it has one."""

    def __init__(self, sock=None):
        self.written = bytearray()
        self.closing = False
        self.waiting = 0
        self._sock = sock

    def get_extra_info(self, name):
        return {"socket": self._sock, "ssl_object": None if self._sock else "encrypted"}[name]

    def is_closing(self):
        return self.closing

    def get_write_buffer_size(self):
        return self.waiting

    def write(self, data):
        assert isinstance(data, bytes), "a transport keeps what it is given"
        self.written += data


def ends(buffers, transport):
    """The client's end, with a session behind it, and the broker's; what goes there is in `transport`."""

    class Client(Pipe):
        def __init__(self):
            super().__init__(buffers, Tally(), HandClock(NOW_MS))
            self.session = Session(PEER, view_of(), uses_fast_path=True)
            self.asked = []

        def session_bytes_received(self, data):
            self.asked.append(data)
            for effect in self.session.client_bytes(data, NOW_MS):
                if isinstance(effect, SendToBroker):
                    self.other.send(effect.data)
            if self.filter is not None:
                self.keep(self.session.take_unparsed())

        def failed(self, error):
            raise error

    client, broker = Client(), Pipe(buffers, Tally(), HandClock(NOW_MS))
    broker.attach(transport)
    client.other = broker
    if client.session.fast_path is not None:
        client.filter = client.session.fast_path.requests
    client.session_bytes_received(ONE)  # from now on the fast path knows the topic
    transport.written.clear()
    client.asked.clear()
    return client


def receive(client, data, most=READ_BYTES):
    """One read after the other, each of `most` bytes at most; yields after each how many came so far."""
    start = 0
    while start < len(data):
        room = client.get_buffer(-1)
        size = min(most, len(room), len(data) - start)
        assert size, "asyncio takes an empty buffer for a mistake"
        room[:size] = data[start : start + size]
        client.buffer_updated(size)
        start += size
        yield start


def of_size(size, correlation_id=1):
    return produce({"t": {0: batch([NOW_MS], value=bytes(size))}}, correlation_id=correlation_id)


ONE = of_size(10)


@given(seed=st.integers(0, 2**32 - 1))
def test_whole_requests_go_on_as_they_came_and_no_broker_sees_the_beginning_of_one(seed):
    """One client's requests, in reads of some size; after each, the broker has what is whole, no more."""
    pick = Random(seed)
    sizes = [pick.choice([1, 500, 40 * KIB, 300 * KIB]) for _ in range(pick.randint(1, 6))]
    requests = [
        of_size(size, n) if pick.random() < 0.9 else request(HEARTBEAT, 4) for n, size in enumerate(sizes)
    ]
    ends_of = [sum(map(len, requests[: n + 1])) for n in range(len(requests))]
    data = b"".join(requests)
    transport = Transport()
    client = ends(Buffers(), transport)

    for come in receive(client, data, pick.choice([3 * KIB + 1, 100_000, READ_BYTES])):
        assert transport.written == data[: max((end for end in ends_of if end <= come), default=0)]
    assert not client.kept


def test_kept_bytes_are_never_more_than_was_counted_and_only_growth_is_told():
    """A sum of all connections' bytes is counted in Python: similar requests must not cost a count each."""
    client, counts = ends(Buffers(), Transport()), []
    client.buffer_grew = lambda: counts.append(client.count_kept())

    def send(size, counted):
        counts.clear()
        for _ in receive(client, of_size(size), 100_000):
            assert client.kept <= max(counts, default=counted)
        return counts == sorted(set(counts)), max(counts, default=counted)

    is_growing, counted = send(250_000, 0)
    assert (is_growing, counted) == (True, 200_000)
    assert send(250_000, counted) == (True, counted)
    assert counts == []
    assert client.count_kept() == 0
    assert send(250_000, 0) == (True, counted)
    assert len(counts) == 2


def rejected(correlation_id):
    return produce({"t": {0: batch([NOW_MS + 10**9])}}, correlation_id=correlation_id)


def rejecting(went_on, answers):
    """A client's end that rejects by itself, and the answer of the session that it repeats."""
    client = ends(Buffers(), went_on)
    client.attach(answers)
    client.session.broker_bytes(produced({"t": {0: {}}}), NOW_MS)
    (told, *_) = client.session.client_bytes(rejected(7), NOW_MS)
    client.rejecter = client.session.fast_path.rejecter
    return client, told


def test_what_is_rejected_never_goes_on_and_is_answered_at_the_end_it_came_from():
    went_on, answers = Transport(), Transport()
    client, told = rejecting(went_on, answers)
    whole = [rejected(7), rejected(8), of_size(10, 9), of_size(20, 10)]
    for _ in receive(client, b"".join(whole)):
        pass
    assert went_on.written == b"".join(whole[2:])
    assert answers.written == told.data + told.data.replace(b"\0\0\0\x07", b"\0\0\0\x08", 1)
    assert (client.asked, client.kept) == ([], 0)


def test_silence_that_a_rejection_costs_is_told_behind_its_answer():
    answers, silences = Transport(), []
    client, _ = rejecting(Transport(), answers)
    client.throttled = lambda silent_ms: silences.append((silent_ms, len(answers.written)))
    for _ in range(1100):
        for _ in receive(client, rejected(8)):
            pass
    answered = len(answers.written)
    assert silences == [(1, answered)], "the first that goes beyond what is free; the next one is put off"
    assert len(client.asked) == 1100 - 1000 + 1
    assert client.session.is_judging


def test_a_large_request_is_kept_by_the_pipe_and_the_session_never_hears_of_it():
    transport = Transport()
    client = ends(Buffers(), transport)
    large = of_size(3_000_000)
    for come in receive(client, large + large[: len(large) // 2]):
        assert client.announced in (None, len(large))
        assert client.kept == come % len(large)
    assert transport.written == large
    assert client.asked == []
    assert client.take_kept() == large[: len(large) // 2]


def test_the_beginning_of_a_request_comes_back_from_the_session_to_the_pipe():
    """Otherwise one odd request among many in flight would send all that follow the long way."""
    transport = Transport()
    client = ends(Buffers(), transport)
    odd = request(METADATA, 12)
    data = odd + of_size(1000)
    list(receive(client, data[:-1]))
    assert (len(client.asked), client.kept) == (1, len(data) - len(odd) - 1)
    list(receive(client, data[-1:]))
    assert transport.written == data
    assert len(client.asked) == 1


def test_what_the_socket_does_not_take_waits_in_the_transport_in_its_order():
    """The buffer is read into again at once: nothing that waits may lie in it."""
    inside, outside = socket.socketpair()
    with inside, outside:
        inside.setblocking(False)
        transport = Transport(inside)
        client = ends(Buffers(), transport)
        outside.recv(1 << 20)
        data = b"".join(of_size(50_000, n) for n in range(40))
        for _ in receive(client, data):
            transport.waiting = len(transport.written)
        outside.setblocking(False)
        sent = bytearray()
        while len(sent) < len(data) - len(transport.written):
            sent += outside.recv(1 << 20)
        assert transport.written, "two megabytes are more than the socket holds"
        assert sent + transport.written == data


def test_a_transport_that_closes_is_left_alone():
    """Its socket's number may be another connection's in a moment."""
    inside, outside = socket.socketpair()
    with inside, outside:
        outside.setblocking(False)
        transport = Transport(inside)
        client = ends(Buffers(), transport)
        outside.recv(1 << 20)
        transport.closing = True
        list(receive(client, ONE))
        with pytest.raises(BlockingIOError):
            outside.recv(1)
        assert not transport.written


def test_a_thousand_connections_that_announce_much_and_send_little_hold_little():
    lent = []

    class Watched(Buffers):
        def borrow(self, received, announced):
            lent.append(super().borrow(received, announced))
            return lent[-1]

    buffers = Watched()
    clients = [ends(buffers, Transport()) for _ in range(1000)]
    beginning = of_size(500_000)[:100]
    for client in clients:
        list(receive(client, beginning))
    assert {client.kept for client in clients} == {100}
    assert sum(map(len, lent)) <= MAX_READY * READ_BYTES + 1000 * 2 * KIB


@given(seed=st.integers(0, 2**32 - 1))
def test_no_memory_is_taken_for_what_is_only_announced(seed):
    """All that is lent is at most what is ready, what is spare, and twice what came."""
    pick, buffers = Random(seed), Buffers()
    held = {}
    for _ in range(60):
        who = pick.randrange(40)
        buffer, received = held.pop(who, (None, 0))
        if buffer is not None and pick.random() < 0.4:
            buffers.return_buffer(buffer)
            continue
        received += pick.choice([1, 5_000, 200_000, 900_000])
        held[who] = buffers.borrow(received, received + pick.choice([1, 1_000_000, 90_000_000])), received
        assert len(held[who][0]) > received
        if buffer is not None:
            buffers.return_buffer(buffer)
        came = sum(2 * max(received, KIB) for _, received in held.values())
        assert (
            sum(len(buffer) for buffer, _ in held.values())
            <= came + MAX_READY * READ_BYTES + 2 * SPARE.most_bytes
        )


def test_large_buffers_are_used_again_and_no_more_are_kept_than_a_bound():
    buffers = Buffers()
    first = buffers.borrow(600_000, 1_000_000)
    buffers.return_buffer(first)
    assert buffers.borrow(1, 1_000_000) is first
    for _ in range(100):
        buffers.return_buffer(bytearray(1_000_000))
    spare = []
    while (each := buffers.spare(1)) is not None:
        spare.append(each)
    assert SPARE.most_bytes // 2 < sum(map(len, spare)) <= SPARE.most_bytes
