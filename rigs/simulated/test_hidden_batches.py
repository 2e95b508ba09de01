"""`inspect.compressed: adaptive` in the whole relay: how many hidden bad batches are found, and at what cost.

policy.md promises that each hidden bad batch of a trusted client is read with a probability of 1%. The
batches go through listener, pipe, fast path and session, as those of real clients do, in every form in which
a request may come to the draw.
"""

from functools import partial
from random import Random

import pytest

from rigs.simulated.shell import Shell
from tests.session.conversation import DAY_MS
from tests.session.messages import API_VERSIONS, produce, request
from tests.wire.batches import CODECS, LZ4, NONE, batch
from tsproxy import fastpath
from tsproxy.fastpath.adaptive import ONE_READ_OF, READ_ALL_MS, TRUSTED_AFTER
from tsproxy.model.kafka import ErrorCode
from tsproxy.session import fast_path
from tsproxy.wire import k00_produce

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-7
"""How often each side of the bounds would be exceeded by a proxy that keeps its promise."""

VERSION = 9
AT_ONCE = 40
ADDRESS = "192.0.2.1"


class Sender:
    """One connection of a producer, and how often a hidden bad batch was `tried` and `found`."""

    def __init__(self, shell, address=ADDRESS, *, version=VERSION, client_id="app", seed=0):
        self.connection = shell.connects(address)
        self.client_id, self.tried, self.found = client_id, 0, 0
        self._shell, self._version, self._draws = shell, version, Random(seed)

    def good(self, codec=LZ4):
        now_ms = self._shell.clock.now_ms()
        return batch([now_ms, now_ms - 1], codec)

    def hidden(self, codec=LZ4):
        """Its header shows nothing of the record that is too old."""
        now_ms = self._shell.clock.now_ms()
        return batch([now_ms, now_ms - 3 * DAY_MS, now_ms], codec)

    def visible(self):
        return batch([self._shell.clock.now_ms() - 3 * DAY_MS], NONE)

    def asks(self, *requests):
        """The error codes of partition 0 in each of these requests, `{topic: {partition: batch}}`."""
        frames = [produce(each, self._version, client_id=self.client_id) for each in requests]
        answers = self.connection.asks(*frames)
        return [self._code(each) for each in answers]

    def earns_trust(self, topic="t"):
        codes = self.asks({topic: {0: self.good()}})  # the first one teaches the fast path its topic
        for _ in range(TRUSTED_AFTER // AT_ONCE + 1):
            codes += self.asks(*[{topic: {0: self.good()}}] * AT_ONCE)
        assert set(codes) == {ErrorCode.NONE}

    def tries(self, topic="t"):
        """Sends hidden bad batches in one write. True if one was found, and then none behind it passes."""
        codes = self.asks(*[self._disguised(topic) for _ in range(AT_ONCE)])
        found = [code == ErrorCode.INVALID_TIMESTAMP for code in codes]
        first = found.index(True) if any(found) else len(found) - 1
        self.tried += first + 1
        self.found += any(found)
        assert all(found[first + 1 :]), "a batch behind the one that was found has passed"
        return any(found)

    def _disguised(self, topic):
        """A request with one hidden bad batch, and perhaps with good ones."""
        form, codec = self._draws.random(), self._draws.choice([c for c in CODECS.values() if c != NONE])
        partitions = {0: self.hidden(codec)}
        if form < 0.5:
            partitions |= {at: self.good(codec) for at in range(1, self._draws.randint(2, 4))}
        elif form < 0.7:
            partitions[1] = self.good(NONE)
        return {topic: partitions}

    def _code(self, answer):
        response = k00_produce.read_response(self._version, memoryview(answer)[4 + 5 :])
        return next(each.error_code for each in response.topics[0].partitions if each.index == 0)


def bounds(tried):
    """The fewest and the most findings that are credible: `FALSE_ALARM` on either side."""
    p = 1 / ONE_READ_OF
    exactly = [(1 - p) ** tried]
    while len(exactly) <= tried and sum(exactly) < 1 - FALSE_ALARM:
        exactly.append(exactly[-1] * (tried - len(exactly) + 1) / len(exactly) * p / (1 - p))
    least = next(k for k in range(len(exactly)) if sum(exactly[: k + 1]) > FALSE_ALARM)
    return least, len(exactly) - 1


def found_of(least_tried, seed, version=VERSION):
    """So many of so many hidden bad batches are found. After each finding, trust is earned anew."""
    with Shell(seed, "adaptive").open() as shell:
        sender = Sender(shell, version=version, seed=seed)
        while sender.tried < least_tried:
            sender.earns_trust()
            while sender.tried < least_tried and not sender.tries():
                pass
            shell.clock.offset_ms += READ_ALL_MS
        return sender.found, sender.tried


def test_hidden_bad_batches_are_found_as_often_as_promised():
    found, tried = found_of(3_000, seed=1)
    least, most = bounds(tried)
    assert least > 0
    assert least <= found <= most, f"{found} of {tried}"


@pytest.mark.full_only("the same for ten times as many batches, and by topic id")
@pytest.mark.parametrize("version", [VERSION, 13])
def test_many_hidden_bad_batches_are_found_as_often_as_promised(version):
    found, tried = found_of(30_000, seed=2, version=version)
    least, most = bounds(tried)
    assert least <= found <= most, f"{found} of {tried}"


def test_a_hidden_bad_batch_beside_a_visible_one_is_always_read():
    with Shell(3, "adaptive").open() as shell:
        sender = Sender(shell)
        sender.earns_trust()
        assert sender.asks({"t": {0: sender.hidden(), 1: sender.visible()}}) == [ErrorCode.INVALID_TIMESTAMP]


def passes(shell, sender):
    """How many of 200 hidden bad batches pass after as many good ones as trust needs."""
    sender.earns_trust()
    return sum(
        code == ErrorCode.NONE for _ in range(5) for code in sender.asks(*[{"t": {0: sender.hidden()}}] * 40)
    )


def same_connection(shell, sender):
    return sender


def other_software(shell, sender):
    body = b"\x04lib\x042.0\x00"  # KIP-511
    sender.connection.asks(request(API_VERSIONS, 3, body))
    return sender


def another_client_id(shell, sender):
    sender.client_id = "another"
    return sender


def a_client_id_for_one_request(shell, sender):
    another_client_id(shell, sender).asks({"t": {0: sender.good()}})
    sender.client_id = "app"
    return sender


def a_changed_view(shell, sender):
    shell.apply(knows_all=True)
    return sender


def a_new_connection(shell, sender):
    sender.connection.closes()
    return Sender(shell)


def a_second_connection(shell, sender):
    return Sender(shell, client_id="second")


ESCAPES = [
    same_connection,
    other_software,
    another_client_id,
    a_client_id_for_one_request,
    a_changed_view,
    a_new_connection,
    a_second_connection,
]


@pytest.mark.parametrize("escapes", ESCAPES, ids=lambda each: each.__name__)
def test_no_way_out_of_the_ten_minutes_after_a_bad_batch(escapes):
    with Shell(4, "adaptive").open() as shell:
        sender = Sender(shell)
        assert sender.asks({"t": {0: sender.visible()}}) == [ErrorCode.INVALID_TIMESTAMP]
        assert passes(shell, escapes(shell, sender)) == 0


def test_a_connection_that_was_trusted_before_is_read_as_well():
    with Shell(5, "adaptive").open() as shell:
        trusted, other = Sender(shell), Sender(shell)
        trusted.earns_trust()
        assert other.asks({"t": {0: other.visible()}}) == [ErrorCode.INVALID_TIMESTAMP]
        codes = trusted.asks(*[{"t": {0: trusted.hidden()}}] * AT_ONCE)
        assert set(codes) == {ErrorCode.INVALID_TIMESTAMP}


@pytest.fixture
def _first_draws_read_nothing(monkeypatch):
    """With this seed, as in tests/fastpath/test_adaptive.py. By chance, one of a hundred draws would."""
    monkeypatch.setattr(fast_path, "Table", partial(fastpath.Table, seed=1))


@pytest.mark.usefixtures("_first_draws_read_nothing")
def test_ten_minutes_later_trust_can_be_earned_again():
    with Shell(6, "adaptive").open() as shell:
        sender = Sender(shell)
        sender.asks({"t": {0: sender.visible()}})
        shell.clock.offset_ms += READ_ALL_MS
        assert passes(shell, sender) > 0


@pytest.mark.usefixtures("_first_draws_read_nothing")
@pytest.mark.parametrize(("address", "topic"), [("192.0.2.2", "t"), (ADDRESS, "u")])
def test_another_address_and_another_topic_do_not_pay_for_it(address, topic):
    with Shell(7, "adaptive").open() as shell:
        bad = Sender(shell)
        bad.asks({"t": {0: bad.visible()}})
        sender = Sender(shell, address)
        sender.earns_trust(topic)
        codes = [code for _ in range(5) for code in sender.asks(*[{topic: {0: sender.hidden()}}] * AT_ONCE)]
        assert ErrorCode.NONE in codes
