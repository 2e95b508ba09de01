"""A session with the fast path sends and counts what a session without it does."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fastpath.conversations import Scene
from tests.session.conversation import NOW_MS, PEER, Session, view_by, view_of
from tests.session.messages import answer, produce, produced, request
from tests.wire.batches import CODECS, batch
from tests.wire.blobs import BOMBS, EQUAL
from tsproxy.decisions import Privacy
from tsproxy.decisions.ledger import Ledger, counters
from tsproxy.decisions.totals import Totals
from tsproxy.model.outcome import Outcome, VerdictName
from tsproxy.model.policy import Inspect
from tsproxy.session import budget
from tsproxy.session.effects import (
    Effect,
    Emit,
    Judge,
    MuteClient,
    PauseClient,
    ReadAnswer,
    ResumeClient,
    SendToBroker,
    SendToClient,
)
from tsproxy.session.produce import cost
from tsproxy.wire import one_shot
from tsproxy.wire.apis import APIS

seeds = st.integers(0, 2**32 - 1)


@dataclass
class Spectator:
    """Watches one session: what it sent, what else it wanted, and what was booked."""

    session: Session
    ledger: Ledger = field(default_factory=Ledger)
    passed: int = 0
    rejections: int = 0
    rejected: list[Outcome] = field(default_factory=list)
    """Each batch has an outcome."""
    is_paused: bool = False
    buffer: Callable[[bytes], Any] = bytes
    """Makes the buffer that the fast path is given."""
    kept: bytes = b""
    """The beginning of a request that is not the session's yet."""
    is_finishing: bool = False
    """An end is over: nothing takes the fast path any more, and there is nobody to pause."""

    def watch(self, effects: list[Effect], now_ms: int = 0) -> tuple[bytes, bytes, bool, list[Effect]]:
        """(to the broker, to the client, whether the client is paused, all other effects but what is booked).

        A batch that is expensive to judge is judged at once: how much one read leaves to be judged, and so
        whether it is expensive, depends on what the fast path forwards.
        """
        if self.session.owes_totals:
            self.book_totals()
        to_broker, to_client, others = b"", b"", []
        waiting = deque(effects)
        while waiting:
            effect = waiting.popleft()
            match effect:
                case SendToBroker(data):
                    to_broker += data
                case SendToClient(data):
                    to_client += data
                case PauseClient() | ResumeClient():
                    self.is_paused = isinstance(effect, PauseClient)
                case Judge(job):
                    waiting += self.session.judged(job(), now_ms)
                    self.book_totals()
                case ReadAnswer(job):
                    waiting += self.session.answer_read(job(), now_ms)
                    self.book_totals()
                case Emit(outcome) if outcome.verdict is VerdictName.ACCEPTED:
                    self.ledger.book(Totals.of(outcome))
                case Emit(outcome) if outcome.verdict is VerdictName.REJECTED:
                    self.ledger.book(Totals.of(outcome))
                    self.rejected.append(outcome)
                case Emit(outcome):
                    self.ledger.book(Totals.of(outcome))
                    others.append(effect)
                case _:
                    others.append(effect)
        return to_broker, to_client, self.is_paused and not self.is_finishing, others

    def book_totals(self) -> None:
        for totals in self.session.drain_totals():
            self.ledger.book(totals)
            if totals.key.verdict is VerdictName.ACCEPTED:
                self.passed += totals.batches
            else:
                self.rejections += totals.batches

    def client_bytes(self, data: bytes, now_ms: int) -> list[Effect]:
        """The fast path first, as far as it leads."""
        come, self.kept = self.kept + data, b""
        requests = self.session.fast_path.requests
        effects, start = self._rejected(come, now_ms)
        end = start + requests.forward_read(self.buffer(come[start:]), now_ms)
        effects.append(SendToBroker(come[start:end]))
        if come[end:] and requests.awaits_more(self.buffer(come[end:])):
            self.kept = come[end:]
        elif come[end:] or not data:
            effects += self.session.client_bytes(come[end:], now_ms)
            self.kept = self.session.take_unparsed()
        return effects

    def _rejected(self, come: bytes, now_ms: int) -> tuple[list[Effect], int]:
        """The pipe's part in repeated rejections, and where these requests end."""
        effects, end, silent_ms = [], 0, 1
        while silent_ms:
            size, answers, silent_ms = self.session.fast_path.rejecter.reject(self.buffer(come[end:]), now_ms)
            end += size
            effects.append(SendToClient(answers))
            effects += [MuteClient(silent_ms)] if silent_ms else []
        return effects, end

    def broker_bytes(self, data: bytes, now_ms: int) -> list[Effect]:
        answers = self.session.fast_path.answers
        end = 0 if self.is_finishing else answers.forward_read(self.buffer(data))
        effects: list[Effect] = [SendToClient(data[:end])]
        if data[end:] or not data:
            effects += self.session.broker_bytes(data[end:], now_ms)
        return effects

    def over(self, how: str, now_ms: int) -> list[Effect]:
        """An end is over in this way: the session gets the beginning of a request, and every answer."""
        effects = self.session.client_bytes(self.kept, now_ms) if self.kept else []
        self.kept, self.is_finishing = b"", True
        return effects + getattr(self.session, how)(now_ms)

    def booked(self) -> list[dict]:
        self.book_totals()
        return sorted((counters(*each, {}, Privacy()) for each in self.ledger.take()), key=str)


def converse(seed: int, turns: int = 60, buffer: Callable[[bytes], Any] = bytes) -> Spectator:
    """Lead one conversation through a session with and one without the fast path, side by side."""
    scene = Scene(Random(seed))
    pick, view = scene.random, scene.view()
    plain = Spectator(Session(PEER, view))
    quick = Spectator(Session(PEER, view, uses_fast_path=True), buffer=buffer)
    to_send = bytearray()

    def both(name: str, *arguments: object) -> None:
        way = plain.over if name == "over" else getattr(plain.session, name)
        expected = plain.watch(way(*arguments), scene.now_ms)
        way = getattr(quick, name, None) or getattr(quick.session, name)
        found = quick.watch(way(*arguments), scene.now_ms)
        assert found == expected, (seed, name)
        scene.broker_reads(expected[0])

    for _ in range(turns):
        scene.now_ms += pick.choice([0, 0, 1, 7, 1000])
        deadline_ms = plain.session.next_deadline_ms
        if scene.names_ids and deadline_ms is not None and deadline_ms <= scene.now_ms:
            both("deadline_passed", scene.now_ms)
        if scene.chance(50):
            to_send += b"".join(scene.request() for _ in range(pick.choice([1, 1, 2, 6])))
        if scene.chance(3):
            both("apply_view", scene.view(), scene.now_ms)
        if scene.chance(5):
            quick.book_totals()
        if scene.chance(60):
            size = len(to_send) if scene.chance(70) else pick.randint(0, len(to_send))
            both("client_bytes", bytes(to_send[:size]), scene.now_ms)
            del to_send[:size]
        if scene.chance(60):
            size = len(scene.answers) if scene.chance(70) else pick.randint(0, len(scene.answers))
            both("broker_bytes", bytes(scene.answers[:size]), scene.now_ms)
            del scene.answers[:size]
    if pick.choice([True, False]):
        both("over", pick.choice(["client_ended", "client_lost", "drained"]), scene.now_ms)
        both("broker_bytes", bytes(scene.answers), scene.now_ms)
    both("over", pick.choice(["client_lost", "broker_lost", "abort"]), scene.now_ms)
    both("over", "abort", scene.now_ms)
    assert quick.booked() == plain.booked(), seed
    assert all(each in plain.rejected for each in quick.rejected), seed
    assert len(quick.rejected) + quick.rejections == len(plain.rejected)
    return quick


@pytest.mark.timeout(1_800)  # 2,000 examples in `make test-full`, on a machine that may be busy
@given(seed=seeds)
def test_with_the_fast_path_a_session_sends_and_counts_what_it_does_without(seed):
    converse(seed)


@pytest.mark.timeout(1_800)
@given(seed=seeds)
@example(5854)  # a broker's rejection of what the fast path forwarded
@example(11944)  # a client has more in flight than a new view allows, and goes on
@example(29825)  # or goes away
def test_so_it_is_where_compressed_batches_are_judged_beside_the_loop(seed):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cost, "OFFLOAD_BYTES", 100)
        converse(seed)


def test_most_batches_of_these_conversations_take_the_fast_path_and_it_repeats_many_rejections():
    """Otherwise the property above would say little."""
    spectators = [converse(seed) for seed in range(90)]
    assert sum(spectator.passed for spectator in spectators) > 90 * 10
    assert sum(spectator.rejections for spectator in spectators) > 20


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_accepted_batches_are_only_counted_compressed_or_not(codec):
    session = Session(PEER, view_of(), uses_fast_path=True)
    asked = produce({"t": {0: batch([NOW_MS] * 7, codec)}})
    told = produced({"t": {0: {}}})
    session.client_bytes(asked, NOW_MS)
    session.broker_bytes(told, NOW_MS)

    for _ in range(3):
        assert session.fast_path.requests.forward_read(asked, NOW_MS) == len(asked)
        assert session.fast_path.answers.forward_read(told) == len(told)
    (totals,) = session.drain_totals()
    assert (totals.batches, totals.records) == (3, 21)


@pytest.mark.parametrize("api_key", APIS)
def test_no_answer_slips_by_that_the_session_would_have_read(api_key):
    """Both routes, at every version: no broker's address may leak on the fast path."""
    for version in range(APIS[api_key].max_version + 1):
        sessions = [
            Session(PEER, view_of(), uses_fast_path=uses_fast_path) for uses_fast_path in (False, True)
        ]
        asked, told = request(api_key, version, bytes(60)), answer(api_key, version, bytes(60))
        plain, quick = (
            [session.client_bytes(asked, NOW_MS), session.broker_bytes(told, NOW_MS)] for session in sessions
        )
        assert quick == plain


def test_a_read_is_decompressed_once_before_a_thread_judges_it(monkeypatch):
    """The fast path tried it, the session let the fast path try again, and then read it itself."""
    decompressed, calls = one_shot.decompressed, []
    monkeypatch.setattr(one_shot, "decompressed", lambda *told: calls.append(1) or decompressed(*told))
    session = Session(PEER, view_by("all", inspect_compressed=Inspect.ALL), uses_fast_path=True)
    codec, body = BOMBS["equal records in zstd of no declared size"]
    large = produce({"t": {0: batch([NOW_MS], codec, body=body, records_count=EQUAL)}})
    small = produce({"t": {0: batch([NOW_MS], CODECS["zstd"])}})
    session.client_bytes(small, NOW_MS)
    session.broker_bytes(produced({"t": {0: {}}}), NOW_MS)
    calls.clear()

    assert session.fast_path.requests.forward_read(large + small, NOW_MS) == 0
    judge, _ = session.client_bytes(large + small, NOW_MS)
    assert len(calls) == 1
    effects = session.judged(judge.job(), NOW_MS)  # the rest is read as if it came now
    assert b"".join(effect.data for effect in effects if isinstance(effect, SendToBroker)) == large + small


def test_each_read_on_the_fast_path_may_decompress_as_much_as_any_other():
    session = Session(PEER, view_by("all", inspect_compressed=Inspect.ALL), uses_fast_path=True)
    size = one_shot.MAX_BYTES - 1000
    value = Random(1).randbytes(50_000) + bytes(size - 50_000)
    asked = produce({"t": {0: batch([NOW_MS], CODECS["zstd"], value=value)}})
    session.client_bytes(asked, NOW_MS)
    session.broker_bytes(produced({"t": {0: {}}}), NOW_MS)
    most = budget.MAX_BYTES // (size + len(asked))
    for _ in range(3):
        assert session.fast_path.requests.forward_read(asked * (most + 5), NOW_MS) == len(asked) * most
