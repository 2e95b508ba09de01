"""`inspect.compressed: adaptive`: which compressed batches stay unread, and what is booked of them."""

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from random import Random

import pytest

from rigs.simulated.history import batches_of
from tests.fastpath.conversations import BoundedOdd, RejectsOdd
from tests.session.conversation import DAY_MS, HOUR_MS, LIMITS, NOW_MS, PEER, Session, view_by, view_of
from tests.session.logins import login
from tests.session.messages import accepted, cut_frames, produce, produced
from tests.wire.batches import CODECS, LZ4, NONE, ZSTD, batch
from tsproxy import fastpath
from tsproxy.decisions import Privacy
from tsproxy.decisions.ledger import Ledger, counters
from tsproxy.decisions.totals import Totals
from tsproxy.fastpath.adaptive import ONE_READ_OF, PAUSE_MS, READ_ALL_MS, TRUSTED_AFTER
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import Outcome, VerdictName
from tsproxy.model.policy import Choice, Inspect, Mode, OnViolation, Policy, RuleSettings, TimeLimit
from tsproxy.session import fast_path
from tsproxy.session.effects import Emit, Judge, SendToBroker, SendToClient
from tsproxy.session.events import ViewChanged
from tsproxy.session.trust import Trust

GOOD = (NOW_MS, NOW_MS + 5)
ADAPTIVE = partial(view_by, "adaptive", inspect_compressed=Inspect.ADAPTIVE)
HIDDEN = (NOW_MS, NOW_MS - 3 * DAY_MS, NOW_MS + 5)
"""Its header shows nothing of the record that is too old."""
LYING = {"timestamps_ms": (NOW_MS, NOW_MS + 9 * HOUR_MS), "max_timestamp": NOW_MS}
"""Its header lies."""


@pytest.fixture(autouse=True)
def _the_same_draw(monkeypatch):
    """With this seed, the first draws after trust is earned read nothing."""
    monkeypatch.setattr(fast_path, "Table", partial(fastpath.Table, seed=1))


def failed(error):
    """A broker's answer for one partition."""
    return {"error_code": int(error)}


@dataclass
class Producer:
    """One client, whose broker accepts all that it gets, unless a test says otherwise."""

    view: object = field(default_factory=ADAPTIVE)
    peer: object = PEER
    version: int = 9
    session: Session = field(init=False)
    now_ms: int = NOW_MS
    ledger: Ledger = field(default_factory=Ledger)
    outcomes: list[Outcome] = field(default_factory=list)
    sent: int = 0
    trust: Trust = field(default_factory=Trust)

    def __post_init__(self):
        self.session = Session(self.peer, self.view, uses_fast_path=True, trust=self.trust)

    def sends(self, *, topic="t", broker=None, codec=LZ4, times=GOOD, shift=True, name=None, **header):
        """True if the batch was forwarded, as it came; the broker's answer then is that of `broker`. `name`
        is another client id or transactional id."""
        header.setdefault("timestamps_ms", times)
        moved = self.now_ms - NOW_MS if shift else 0
        header["timestamps_ms"] = [each + moved for each in header["timestamps_ms"]]
        if "max_timestamp" in header:
            header["max_timestamp"] += moved
        self.sent += 1
        asked = produce(
            {topic: {0: batch(codec=codec, **header)}},
            version=self.version,
            correlation_id=self.sent,
            **(name or {}),
        )
        to_broker = self.asks(asked)[0]
        if not to_broker:
            return False
        assert to_broker == asked
        said = produced({topic: {0: broker or accepted()}}, version=self.version, correlation_id=self.sent)
        assert self._done(self.session.broker_bytes(said, self.now_ms))[1] == said
        return True

    def asks(self, asked):
        """The bytes for the broker and those for the client. The fast path goes first, as far as it leads."""
        size = self.session.fast_path.requests.forward_read(asked, self.now_ms)
        rest = self.session.client_bytes(asked[size:], self.now_ms) if asked[size:] else []
        to_broker, to_client = self._done(rest)
        return asked[:size] + to_broker, to_client

    def tries(self, draws, at_once=40):
        """Hidden bad batches in one read, each perhaps beside good ones: how many up to the one that
        was found, and whether one was. None behind it passes."""
        requests = [self._disguised(draws, number) for number in range(at_once)]
        asked = b"".join(produce({"t": data}, self.version, correlation_id=n) for n, data in requests)
        is_forwarded = [False] * at_once
        for frame in cut_frames(bytearray(self.asks(asked)[0])):
            number, forwarded = int.from_bytes(frame[8:12], "big"), batches_of(frame)
            is_forwarded[number] = ("t", 0) in forwarded
            told = {index: accepted() for _, index in forwarded}
            said = produced({"t": told}, version=self.version, correlation_id=number)
            self._done(self.session.broker_bytes(said, self.now_ms))
        tried = [*is_forwarded, False].index(False) + 1
        assert not any(is_forwarded[tried:]), "a batch behind the one that was found has passed"
        return min(tried, at_once), tried <= at_once

    def _disguised(self, draws, number):
        form, codec = draws.random(), draws.choice([c for c in CODECS.values() if c != NONE])
        moved = self.now_ms - NOW_MS
        hidden, good = ([each + moved for each in times] for times in (HIDDEN, GOOD))
        partitions = {0: batch(hidden, codec)}
        if form < 0.5:
            partitions |= {at: batch(good, codec) for at in range(1, draws.randint(2, 4))}
        elif form < 0.7:
            partitions[1] = batch(good, NONE)
        return number, partitions

    def logs_in(self, mechanism, *steps):
        """A login, or its renewal. The broker accepts it."""
        for sent, said in login(mechanism, steps):
            assert self._done(self.session.client_bytes(sent, self.now_ms))[0] == sent
            assert self._done(self.session.broker_bytes(said, self.now_ms))[1] == said

    def earns_trust(self, **how):
        for _ in range(TRUSTED_AFTER + 1):
            assert self.sends(**how)
        assert self.unread() == 0
        assert self.sends(**how)
        assert self.unread() == 2

    def _done(self, effects):
        effects = list(effects)
        for effect in effects:  # what follows from a thread's work is done as well
            if isinstance(effect, Judge):
                effects += self.session.judged(effect.job(), self.now_ms)
        sent = [b"".join(e.data for e in effects if isinstance(e, to)) for to in (SendToBroker, SendToClient)]
        for effect in effects:
            if isinstance(effect, Emit):
                self.ledger.book(Totals.of(effect.outcome))
                self.outcomes.append(effect.outcome)
        for totals in self.session.drain_totals():
            self.ledger.book(totals)
        return sent

    def counted(self):
        """The counters since the last call, by verdict."""
        lines = [counters(key, tally, {}, Privacy()) for key, tally in self.ledger.take()]
        return {line["verdict"]: line for line in lines}

    def unread(self):
        """How many records were not read since the last call."""
        return sum(line.get("records_unread", 0) for line in self.counted().values())


@pytest.fixture
def trusted():
    """A producer that has earned trust."""
    producer = Producer()
    producer.earns_trust()
    return producer


@pytest.mark.parametrize("codec", [codec for codec in CODECS.values() if codec != NONE])
@pytest.mark.parametrize("version", [9, 13])
def test_after_enough_batches_in_order_only_the_header_is_judged(codec, version):
    producer = Producer(version=version)
    producer.earns_trust(codec=codec)
    assert producer.sends(codec=codec)
    booked = producer.counted()["accepted"]
    assert (booked["records"], booked["records_unread"]) == (2, 2)
    assert (booked["drift_min_ms"], booked["drift_max_ms"]) == (0, 5)


def test_by_default_batches_of_a_topic_whose_limits_are_the_brokers_may_stay_unread():
    producer = Producer(view_of())
    producer.earns_trust()
    assert producer.sends(times=HIDDEN, broker=failed(ErrorCode.INVALID_TIMESTAMP))
    rejected = producer.counted()["broker_rejected"]
    assert (rejected["records"], rejected["error_code"]) == (3, ErrorCode.INVALID_TIMESTAMP)
    assert not producer.sends(times=HIDDEN), "after a bad batch, every batch is read"


def test_about_one_of_so_many_is_still_read_and_nobody_can_tell_which(trusted):
    read = [at for at in range(30 * ONE_READ_OF) if trusted.sends() and not trusted.unread()]
    assert 12 <= len(read) <= 50
    gaps = {after - before for before, after in pairwise(read)}
    assert len(gaps) > len(read) // 3


FALSE_ALARM = 1e-7
"""How often each side of the bounds would be exceeded by a proxy that keeps its promise."""


def credible(tried):
    """The fewest and the most findings of so many hidden batches."""
    p = 1 / ONE_READ_OF
    exactly = [(1 - p) ** tried]
    while len(exactly) <= tried and sum(exactly) < 1 - FALSE_ALARM:
        exactly.append(exactly[-1] * (tried - len(exactly) + 1) / len(exactly) * p / (1 - p))
    least = next(k for k in range(len(exactly)) if sum(exactly[: k + 1]) > FALSE_ALARM)
    return least, len(exactly) - 1


MANY = pytest.mark.full_only("the same for ten times as many batches, and by topic id")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("least", "version"),
    [(3_000, 9), pytest.param(30_000, 9, marks=MANY), pytest.param(30_000, 13, marks=MANY)],
)
def test_hidden_bad_batches_are_found_as_often_as_the_page_promises(least, version):
    """Each with a probability of 1%. After each finding, trust is earned anew."""
    draws, tried, findings = Random(least), 0, 0
    producer = Producer(version=version)
    while tried < least:
        for _ in range(TRUSTED_AFTER + 1):
            assert producer.sends()
        is_found = False
        while tried < least and not is_found:
            more, is_found = producer.tries(draws)
            tried, findings = tried + more, findings + is_found
        producer.now_ms += READ_ALL_MS
    fewest, most = credible(tried)
    assert fewest > 0
    assert fewest <= findings <= most, f"{findings} of {tried}"


def test_a_hidden_bad_batch_beside_a_visible_one_is_always_read(trusted):
    asked = produce({"t": {0: batch(HIDDEN, LZ4), 1: batch([NOW_MS - 3 * DAY_MS])}}, correlation_id=999)
    assert trusted.asks(asked)[0] == b""


def test_each_connection_draws_differently(monkeypatch):
    monkeypatch.undo()

    def read():
        producer = Producer()
        for _ in range(TRUSTED_AFTER + 1):
            producer.sends()
        producer.counted()
        return tuple(at for at in range(3 * ONE_READ_OF) if producer.sends() and not producer.unread())

    assert len({read() for _ in range(8)}) > 1


@pytest.mark.parametrize("times", [(NOW_MS, NOW_MS + 2 * HOUR_MS), (NOW_MS - 2 * DAY_MS, NOW_MS)])
def test_a_time_outside_the_limits_in_the_header_is_found_at_once(trusted, times):
    assert not trusted.sends(times=times)


def test_once_it_is_drawn_every_batch_is_read_for_a_while_and_until_enough_are_in_order(trusted):
    tries = next(n for n in range(100_000) if not trusted.sends(times=HIDDEN))
    assert 0 < tries < 20 * ONE_READ_OF
    began_ms = trusted.now_ms
    while trusted.now_ms < began_ms + READ_ALL_MS:
        assert not trusted.sends(times=HIDDEN)
        assert trusted.sends()
        trusted.now_ms += PAUSE_MS // 2
    trusted.counted()
    for _ in range(TRUSTED_AFTER):
        assert trusted.sends()
    assert not trusted.sends(times=HIDDEN)  # the last bad one was not long ago
    assert trusted.unread() == 0


def test_the_time_alone_does_not_bring_trust_back(trusted):
    assert not trusted.sends(times=(NOW_MS, NOW_MS + 2 * HOUR_MS))
    trusted.now_ms += READ_ALL_MS
    for _ in range(TRUSTED_AFTER):
        assert not trusted.unread()
        assert trusted.sends()
    assert trusted.sends()
    assert trusted.unread() == 2


def test_batches_that_the_broker_did_not_accept_earn_no_trust():
    """Otherwise nobody has said that the topic exists, and that the client may write there."""
    producer = Producer()
    assert producer.sends()
    for _ in range(2 * TRUSTED_AFTER):
        assert producer.sends(broker=failed(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert producer.unread() == 0
    assert not producer.sends(times=HIDDEN)


@pytest.mark.parametrize(
    "error", [ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_RECORD]
)
def test_a_brokers_rejection_ends_trust_as_well(trusted, error):
    assert trusted.sends(times=HIDDEN, broker=failed(error))
    assert trusted.outcomes[-1].verdict is VerdictName.BROKER_REJECTED
    line = trusted.counted()["broker_rejected"]
    assert (line["records"], line["records_unread"]) == (3, 3)
    assert line["reason"] in ("other", "bad_record", "invalid_crc")  # no word on times that nobody has read
    assert not trusted.sends(times=HIDDEN)


def pipelined(penalties, view, bad_request, between=b""):
    """A trusted client sends a bad batch, and perhaps something more before the broker answers it."""
    session = Session(PEER, view, uses_fast_path=True, trust=penalties)
    session.client_bytes(bad_request + between, NOW_MS)
    return session


def test_a_brokers_rejection_counts_though_the_client_has_another_name_by_then():
    penalties = Trust()
    bad = produce({"t": {0: batch(HIDDEN, LZ4)}}, correlation_id=1)
    other = produce({"t": {0: batch(GOOD, LZ4)}}, correlation_id=2, client_id="other")
    view = ADAPTIVE(limits=replace(LIMITS, before_max_ms=9 * DAY_MS))
    session = pipelined(penalties, view, bad, other)
    session.broker_bytes(produced({"t": {0: failed(ErrorCode.INVALID_TIMESTAMP)}}), NOW_MS)
    assert penalties.penalties_of(PEER.client_address).until_ms("t") == NOW_MS + READ_ALL_MS


STRICT = replace(ADAPTIVE(), policy=replace(ADAPTIVE().policy, candidate=RuleSettings(after=TimeLimit(1))))
"""The candidate would reject `GOOD`."""


@pytest.mark.parametrize(
    ("view", "times"), [(STRICT, GOOD), (ADAPTIVE(mode=Mode.AUDIT), (NOW_MS, NOW_MS + 2 * HOUR_MS))]
)
def test_a_batch_that_would_be_rejected_counts_without_the_brokers_answer(view, times):
    penalties = Trust()
    pipelined(penalties, view, produce({"t": {0: batch(times, LZ4)}}))
    assert penalties.penalties_of(PEER.client_address).until_ms("t") == NOW_MS + READ_ALL_MS


def test_an_answer_that_says_nothing_about_the_records_does_not(trusted):
    trusted.sends(broker=failed(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    trusted.counted()
    assert trusted.sends(times=HIDDEN)


def test_a_header_that_lies_is_found_when_it_is_read_and_never_earns_trust():
    producer = Producer()
    for _ in range(3 * TRUSTED_AFTER):
        assert producer.sends(timestamps_ms=(NOW_MS, NOW_MS + 5), max_timestamp=NOW_MS)
    assert producer.unread() == 0
    producer = Producer()
    producer.earns_trust()
    assert producer.sends(**LYING)  # a broker with these limits reads it


@pytest.mark.parametrize(
    "header",
    [{"base_timestamp": -1}, {"max_timestamp": NOW_MS - 1}, {"base_timestamp": -5, "max_timestamp": -1}],
)
def test_a_header_without_a_range_of_times_is_no_reason_to_leave_a_batch_unread(trusted, header):
    trusted.sends(**header)
    assert trusted.unread() == 0


def comes_back(view=None, now_ms=NOW_MS, **facts):
    """A producer with the trust of one that is gone, whose second batch hides an old record. True if it was
    forwarded unread."""
    before = Producer(view_of())
    before.earns_trust()
    producer = Producer(view or view_of(), replace(PEER, client_port=7, **facts), trust=before.trust)
    producer.now_ms = now_ms
    assert producer.sends()
    return producer.sends(times=HIDDEN)


@pytest.mark.parametrize(
    ("facts", "is_trusted"),
    [
        ({}, True),
        ({"now_ms": NOW_MS + PAUSE_MS}, True),
        ({"now_ms": NOW_MS + PAUSE_MS + 1}, False),
        ({"client_address": "192.0.2.99"}, False),
        ({"principal": "User:another"}, False),
        ({"client_software": "another/1.0"}, False),
        ({"listener": "another"}, False),
        ({"view": view_of(limits=replace(LIMITS, after_max_ms=2 * HOUR_MS))}, False),
        ({"view": view_of(policy=Policy(help="Call us."))}, False),
        ({"view": ADAPTIVE()}, False),
    ],
    ids=str,
)
def test_a_client_that_comes_back_keeps_its_trust_and_nobody_else_has_it(facts, is_trusted):
    assert comes_back(**facts) is is_trusted


def test_with_explicit_adaptive_each_connection_has_to_earn_its_own():
    """The broker may accept what the policy rejects, so no client may lend its trust to another one."""
    before = Producer()
    before.earns_trust()
    assert not Producer(trust=before.trust).sends(times=HIDDEN)


def test_a_new_view_with_equal_limits_takes_no_trust_away_and_other_limits_do():
    producer = Producer(view_of())
    producer.earns_trust()
    wider = replace(LIMITS, after_max_ms=2 * HOUR_MS)
    for view, is_trusted in ((view_of(), True), (view_of(limits=wider), False)):
        producer.session.feed(ViewChanged(view), producer.now_ms, producer.now_ms)
        assert producer.sends()
        assert producer.sends(times=HIDDEN) is is_trusted


def test_a_bad_batch_costs_the_trust_of_all_connections_of_the_client_at_once():
    one = Producer(view_of())
    one.earns_trust()
    two = Producer(view_of(), replace(PEER, client_port=7), trust=one.trust)
    assert two.sends()
    assert not two.sends(times=(NOW_MS, NOW_MS + 2 * HOUR_MS))
    assert not one.sends(times=HIDDEN)


ESCAPES = {
    "the same connection": {},
    "another client id": {"name": {"client_id": "another"}},
    "other software": {"peer": replace(PEER, client_software="lib/2.0")},
    "a new connection": {"peer": replace(PEER, client_port=7)},
    "a changed view": {"view": ADAPTIVE(limits=replace(LIMITS, after_max_ms=2 * HOUR_MS))},
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_no_way_leads_out_of_the_ten_minutes_after_a_bad_batch(escape):
    first = Producer()
    assert not first.sends(times=[NOW_MS - 3 * DAY_MS], codec=NONE)
    name, escape = escape.get("name"), {key: value for key, value in escape.items() if key != "name"}
    producer = Producer(trust=first.trust, **escape) if escape else first
    for _ in range(TRUSTED_AFTER + 1):
        assert producer.sends(name=name)
    assert not any(producer.sends(times=HIDDEN, name=name) for _ in range(20))


@pytest.mark.parametrize(
    ("peer", "topic"),
    [(replace(PEER, client_address="192.0.2.2"), "t"), (PEER, "u")],
    ids=["address", "topic"],
)
def test_another_address_and_another_topic_do_not_pay_for_it(peer, topic):
    bad = Producer()
    assert not bad.sends(times=[NOW_MS - 3 * DAY_MS])
    producer = Producer(peer=peer, trust=bad.trust)
    producer.earns_trust(topic=topic)
    assert producer.sends(times=HIDDEN, topic=topic)


def test_connections_of_a_client_earn_trust_together():
    one = Producer(view_of())
    for _ in range(TRUSTED_AFTER // 2 + 1):
        two = Producer(view_of(), replace(PEER, client_port=7), trust=one.trust)
        assert one.sends()
        assert two.sends()
        assert one.unread() == two.unread() == 0
    assert one.sends()
    assert one.sends(times=HIDDEN)


NAMES = [{"client_id": "other"}, {"client_id": None}, {"transactional_id": "tx"}]
UNTRUSTED = {
    "after a pause": (PAUSE_MS + 1, {}),
    "a clock that steps back is a pause": (-1, {}),
    "another topic": (0, {"topic": "u"}),
    "uncompressed": (0, {"codec": NONE}),
    "no answer would say that the broker rejected a record": (0, {"name": {"acks": 0}}),
    **{f"another {next(iter(name))}, {name}": (0, {"name": name}) for name in NAMES},
}


@pytest.mark.parametrize(("later_ms", "how"), UNTRUSTED.values(), ids=UNTRUSTED)
def test_trust_that_was_earned_otherwise_leaves_no_batch_unread(trusted, later_ms, how):
    trusted.now_ms += later_ms
    assert not trusted.sends(times=HIDDEN, **how)


def test_another_topic_takes_no_trust_away(trusted):
    assert trusted.sends(topic="u")
    assert trusted.sends(times=HIDDEN)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: next(iter(name)))
def test_after_another_name_trust_of_the_first_one_begins_at_0(trusted, name):
    assert trusted.sends(name=name, attributes=0x10 if "transactional_id" in name else 0, producer_id=7)
    trusted.counted()
    assert not trusted.sends(times=HIDDEN)


def test_after_another_login_trust_begins_at_0():
    """The principal may be another one, for whom other rules hold."""
    producer = Producer(replace(ADAPTIVE(), broker_needs_sasl=True))
    producer.logs_in("PLAIN", (b"\x00alice\x00password", b""))
    producer.earns_trust()
    producer.logs_in("PLAIN", (b"\x00alice\x00password", b""))
    assert not producer.sends(times=HIDDEN)


def test_new_limits_are_judged_anew(trusted):
    trusted.session.feed(ViewChanged(ADAPTIVE()), trusted.now_ms, trusted.now_ms)
    assert not trusted.sends(times=HIDDEN)


def test_large_batches_which_a_thread_reads_earn_trust_as_well(monkeypatch):
    monkeypatch.setattr("tsproxy.wire.one_shot.most_input", lambda _: 1)
    Producer().earns_trust(codec=ZSTD)


ALWAYS_READ = {
    "all": {"view": view_by("all", inspect_compressed=Inspect.ALL)},
    "by default, if the proxy is stricter than the broker": {"view": view_by("r", after=TimeLimit(1_000))},
    "below version 8 no answer says which records were rejected": {"version": 7},
    **{
        f"a rule that needs every record: {', '.join(needs)}, {number}": {"view": ADAPTIVE(**needs)}
        for number, needs in enumerate(
            [
                {"zero": Choice.REJECT},
                {"negative": Choice.REJECT},
                {"no_timestamp": Choice.REJECT},
                {"no_timestamp": Choice.STAMP},
                {"on_violation": OnViolation.REPAIR},
                {"custom_rules": (CustomRule("Odd", RejectsOdd()),)},
                {"custom_rules": (CustomRule("BoundedOdd", BoundedOdd()),)},
                {"dead_letters": True},
            ]
        )
    },
}


@pytest.mark.parametrize("facts", ALWAYS_READ.values(), ids=ALWAYS_READ)
def test_every_batch_is_read(facts):
    producer = Producer(**facts)
    for _ in range(2 * TRUSTED_AFTER):
        assert producer.sends(times=(NOW_MS, NOW_MS + 2), shift=False)
    assert producer.unread() == 0
    assert not producer.sends(times=HIDDEN)


def test_a_rule_that_adds_the_time_of_arrival_reads_every_record():
    session = Session(PEER, ADAPTIVE(keep_both_times=True), uses_fast_path=True)
    for number in range(2 * TRUSTED_AFTER):
        asked = produce({"t": {0: batch(GOOD, LZ4)}}, correlation_id=number)
        [goes, *_] = session.client_bytes(asked, NOW_MS)
        assert isinstance(goes, SendToBroker)
        assert goes.data != asked, "forwarded as it came, without the header"
        session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=number), NOW_MS)


def test_a_batch_that_only_the_candidate_would_reject_is_no_batch_in_order():
    producer = Producer(STRICT)
    for _ in range(2 * TRUSTED_AFTER):
        assert producer.sends()
    booked = producer.counted()["accepted"]
    assert (booked["would_reject"], booked.get("records_unread")) == (True, None)


def test_the_topics_own_limits_hold_for_what_stays_unread():
    producer = Producer(ADAPTIVE(limits=replace(LIMITS, after_max_ms=4)))
    producer.earns_trust(times=(NOW_MS, NOW_MS + 4))
    assert not producer.sends(times=(NOW_MS, NOW_MS + 5))
