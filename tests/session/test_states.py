"""Any events in any order: a session meets no cause that its state has no row for."""

from collections import deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.conversation import HOUR_MS, NOW_MS, PEER, Session, view_of
from tests.session.logins import authenticate, authenticated, handshake, shaken
from tests.session.messages import API_VERSIONS, HEARTBEAT, answer, produce, produced, request
from tests.wire.batches import batch
from tsproxy.session.effects import CloseSession, Judge, ReadAnswer, SendToBroker
from tsproxy.session.produce import cost
from tsproxy.session.states import Cause, SessionState, TransitionError, after
from tsproxy.session.throttle import FREE_MS, Throttle

GOOD, BAD = batch([NOW_MS]), batch([NOW_MS + 2 * HOUR_MS])
LARGE = batch([NOW_MS], 2, value=bytes(200))
TOKEN = b"\x00\x00\x00\x05\x00a\x00bc"


class Walk:
    """One session, which is sent anything; its broker answers in order, and as it likes."""

    def __init__(self, random):
        self.random = random
        throttle = Throttle()
        if random.random() < 0.5:
            throttle.rejected(PEER, int(FREE_MS) + 20, 0, NOW_MS, 1_000)
        self.session = Session(PEER, view_of(broker_needs_sasl=random.random() < 0.7), throttle=throttle)
        self.now_ms = NOW_MS
        self.unanswered = deque()
        self.jobs = deque()
        self.seen = set()

    def performs(self, effects):
        for effect in effects:
            match effect:
                case SendToBroker(data):
                    self.forwarded(data)
                case Judge(job) | ReadAnswer(job):
                    self.jobs.append((type(effect), job))
        self.seen.add(self.session._state.current)
        is_closed = any(isinstance(effect, CloseSession) for effect in effects)
        assert not is_closed or effects[-1] == next(e for e in effects if isinstance(e, CloseSession))

    def forwarded(self, data):
        while data:
            if data == TOKEN:
                self.unanswered.append(b"\x00\x00\x00\x00")
                return
            size = 4 + int.from_bytes(data[:4], "big")
            self.unanswered.append(self.answer_to(data[:size]))
            data = data[size:]

    def answer_to(self, frame):
        pick, key = self.random, int.from_bytes(frame[4:6], "big")
        version, correlation_id = int.from_bytes(frame[6:8], "big"), int.from_bytes(frame[8:12], "big")
        match key:
            case 17:
                return shaken(pick.choice([0, 0, 0, 33]), version, correlation_id)
            case 36:
                token, error_code = pick.choice([(b"", 0), (b"", 0), (b"more", 0), (b"", 58)])
                return authenticated(token, error_code, version, correlation_id)
            case 0:
                return produced({"t": {0: {}}}, version, correlation_id=correlation_id)
            case _:
                return answer(key, version, bytes(60), correlation_id)

    def turn(self):
        pick, session = self.random, self.session
        match pick.randrange(12):
            case 0 | 1:
                mechanism = pick.choice(["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
                self.client(
                    pick.choice([handshake(mechanism, pick.choice([0, 1])), authenticate(b"\0a\0b"), TOKEN])
                )
            case 2 | 3:
                topic, acks = pick.choice("ttn"), pick.choice([-1, -1, 0])  # nobody knows the id of n
                records = pick.choice([GOOD, GOOD, BAD, LARGE])
                self.client(produce({topic: {0: records}}, pick.choice([9, 13]), acks))
            case 4:
                self.client(request(pick.choice([HEARTBEAT, API_VERSIONS]), 0))
            case 5 | 8 | 9 | 10 | 11 if self.unanswered:
                self.performs(session.broker_bytes(self.unanswered.popleft(), self.now_ms))
            case 6 if self.jobs:
                kind, job = self.jobs.popleft()
                done = session.judged if kind is Judge else session.answer_read
                self.performs(done(job(), self.now_ms))
            case 7:
                self.now_ms += pick.choice([1, 5, 30])
                if (deadline_ms := session.next_deadline_ms) is not None and deadline_ms <= self.now_ms:
                    self.performs(session.deadline_passed(self.now_ms))

    def client(self, data):
        self.performs(self.session.client_bytes(data, self.now_ms))


def walk(seed):
    one = Walk(Random(seed))
    for _ in range(40):
        one.turn()
    one.performs(one.session.abort())
    assert one.session._state.current is SessionState.CLOSED
    assert one.session.next_deadline_ms is None
    return one.seen


@pytest.fixture(autouse=True, scope="module")
def large():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cost, "OFFLOAD_BYTES", 100)
        yield


@given(st.integers(0, 2**32 - 1))
def test_no_order_of_events_meets_a_state_without_a_row_for_it(seed):
    walk(seed)


def test_these_walks_visit_every_state():
    """Otherwise the property above would say little."""
    assert set().union(*map(walk, range(300))) == set(SessionState)


def test_a_cause_without_a_row_is_named_with_its_state():
    with pytest.raises(TransitionError, match="NAMED in CLOSED"):
        after(SessionState.CLOSED, Cause.NAMED)
