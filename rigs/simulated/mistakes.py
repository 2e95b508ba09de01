"""Mistakes of the product, to be planted: each is one that could be made, and that worlds must find.

Each plants itself with pytest's `monkeypatch`. `MISTAKES` has them with the invariants that notice them.
"""

import asyncio
from dataclasses import replace
from itertools import count

from rigs.simulated.requests import PLANTED
from tsproxy.model.policy import Mode
from tsproxy.policy import judge
from tsproxy.proxy.connections.driver import SessionDriver
from tsproxy.proxy.connections.protocol import RelayProtocol
from tsproxy.proxy.connections.relay import Relay
from tsproxy.session.effects import CloseReason
from tsproxy.session.events import Aborted, ClientLost
from tsproxy.session.lifetime import ClientEnd, End, Lifetime
from tsproxy.session.policies import Policies
from tsproxy.session.sasl import SaslWatch
from tsproxy.session.session import Session
from tsproxy.session.state import State
from tsproxy.wire import addresses, record_batch
from tsproxy.wire.answers import AnswerStream


def _now_and_then(every=10):
    """A function that says whether the mistake is made this time."""
    calls = count(1)
    return lambda: next(calls) % every == 0


def forwards_a_forbidden_batch(patch):
    plain, is_now = judge.first_rejection, _now_and_then()
    patch.setattr(judge, "first_rejection", lambda context: None if is_now() else plain(context))


def answers_twice(patch):
    plain, is_now = State.answer_locally, _now_and_then()

    def wrong(self, answer):
        plain(self, answer)
        if is_now():
            plain(self, answer)

    patch.setattr(State, "answer_locally", wrong)


def answers_before_its_turn(patch):
    patch.setattr(State, "answer_locally", lambda self, answer: self.send_to_client(answer))


def books_twice(patch):
    plain, is_now = State.emit, _now_and_then()

    def wrong(self, booked):
        booked = list(booked)
        plain(self, booked * 2 if is_now() else booked)

    patch.setattr(State, "emit", wrong)


def forgets_what_the_fast_path_counted(patch):
    plain, is_now = State.drain_totals, _now_and_then()
    patch.setattr(State, "drain_totals", lambda self: (plain(self), [])[1] if is_now() else plain(self))


def leaks_an_address(patch):
    patch.setattr(addresses, "rewrite", lambda key, version, reader, *_: bytes(reader.data))


def leaves_a_task(patch):
    plain, forgotten = Relay.client_lost, []

    def wrong(self):
        forgotten.append(asyncio.get_running_loop().create_task(asyncio.sleep(10**9)))
        plain(self)

    patch.setattr(Relay, "client_lost", wrong)


def leaves_a_timer(patch):
    plain = RelayProtocol.connection_lost

    def wrong(self, exc):
        self._abort = None
        plain(self, exc)

    patch.setattr(RelayProtocol, "connection_lost", wrong)


def loses_a_request_when_it_drains(patch):
    patch.setattr(Relay, "drain", lambda self: self.client_over(Aborted()))


def loses_answers_of_a_client_that_sends_no_more(patch):
    patch.setattr(Relay, "client_ended", lambda self: (self.client_over(Aborted()), False)[1])


def waits_for_ever_for_an_end_that_is_over(patch):
    patch.setattr(Lifetime, "ended_by", lambda self, **facts: None)


def lets_a_client_that_sends_no_more_wait_for_ever(patch):
    patch.setattr(Session, "_limit_half_closed", lambda self: None)


def waits_for_answers_that_nobody_can_get(patch):
    plain = Lifetime.ended_by

    def wrong(self, **facts):
        is_lost = self.client is ClientEnd.LOST and facts["is_owed"]
        return None if is_lost else plain(self, **facts)

    patch.setattr(Lifetime, "ended_by", wrong)


def does_not_wait_for_the_broker_once_its_client_has_ended(patch):
    plain = Lifetime.ended_by

    def wrong(self, **facts):
        is_early = self.client is ClientEnd.ENDED and not facts["is_owed"]
        return End.CLIENT if is_early else plain(self, **facts)

    patch.setattr(Lifetime, "ended_by", wrong)


def drops_the_request_of_a_client_that_is_lost(patch):
    plain = Lifetime.ended_by

    def wrong(self, **facts):
        is_judged = self.client is ClientEnd.LOST and facts["holds_request"]
        return End.CLIENT if is_judged else plain(self, **facts)

    patch.setattr(Lifetime, "ended_by", wrong)


def drops_the_answer_that_is_read(patch):
    plain = Lifetime.ended_by
    patch.setattr(Lifetime, "ended_by", lambda self, **facts: plain(self, **{**facts, "reads_answer": False}))


def does_not_wait_for_the_last_bytes(patch):
    patch.setattr(RelayProtocol, "finish", lambda self: self.transport and self.transport.abort())


def forgets_bytes_that_came_early(patch):
    plain = Relay.client_bytes

    def wrong(self, data):
        if not self._is_connecting:
            plain(self, data)

    patch.setattr(Relay, "client_bytes", wrong)


def takes_a_view_for_the_end(patch):
    plain, is_now = Relay.take_view, _now_and_then()

    def wrong(self):
        if self.view_number != self._views.newest.number and is_now():
            self.close(CloseReason.PEER_CLOSED, "")
        plain(self)

    patch.setattr(Relay, "take_view", wrong)


def raises_when_an_answer_comes_in_pieces(patch):
    plain = AnswerStream.feed

    def wrong(self, data):
        if len(data) < 4:
            raise IndexError("a piece of three bytes")
        plain(self, data)

    patch.setattr(AnswerStream, "feed", wrong)


def forgets_a_judgement(patch):
    plain, is_now = Session._request_judged, _now_and_then()

    def wrong(self, judgement, now_ms):
        if not is_now():
            plain(self, judgement, now_ms)

    patch.setattr(Session, "_request_judged", wrong)


def lets_clients_in_after_a_rejected_login(patch):
    plain = SaslWatch.token_answered
    patch.setattr(SaslWatch, "token_answered", lambda self, _, *more: plain(self, 0, *more))


def takes_a_client_for_another(patch):
    plain, is_now = SaslWatch.__init__, _now_and_then()

    def wrong(self, needed, principal, claim):
        plain(self, needed, "User:somebody" if is_now() else principal, claim)

    patch.setattr(SaslWatch, "__init__", wrong)


def logs_what_a_client_sent(patch):
    plain, read, last = SessionDriver.note, Relay.client_bytes, [b""]

    def reads(self, data):
        last[0] = bytes(data)
        read(self, data)

    patch.setattr(Relay, "client_bytes", reads)
    patch.setattr(
        SessionDriver,
        "note",
        lambda self, event, facts, **more: plain(self, event, {**facts, "client": last[0].hex(" ")}, **more),
    )


def books_the_value_of_a_record(patch):
    plain = State.emit
    name = repr(PLANTED["value"])
    patch.setattr(
        State,
        "emit",
        lambda self, booked: plain(self, [replace(each, transactional_id=name) for each in booked]),
    )


MISTAKES = {
    forwards_a_forbidden_batch: {"forbidden_forwarded", "answered_falsely"},
    answers_twice: {"answered_out_of_order"},
    answers_before_its_turn: {"answered_out_of_order"},
    books_twice: {"booked_twice"},
    forgets_what_the_fast_path_counted: {
        "booked_accepted",
        "booked_rejected",
        "booked_forwarded",
        "booked_all",
        "not_booked",
    },
    leaks_an_address: {"address_leaked"},
    leaves_a_task: {"never_ends", "left_behind"},
    leaves_a_timer: {"left_behind"},
    loses_a_request_when_it_drains: {"answer_lost"},
    loses_answers_of_a_client_that_sends_no_more: {"answer_lost", "answer_cut_short"},
    waits_for_ever_for_an_end_that_is_over: {"never_ends"},
    lets_a_client_that_sends_no_more_wait_for_ever: {"half_closed_for_ever"},
    drops_the_request_of_a_client_that_is_lost: {"accepted_lost"},
    drops_the_answer_that_is_read: {"answer_lost"},
    does_not_wait_for_the_last_bytes: {"answer_lost", "accepted_lost", "reset_by_proxy"},
    forgets_bytes_that_came_early: {"unanswered", "answer_lost", "accepted_lost", "not_booked"},
    takes_a_view_for_the_end: {"answer_lost", "booked_accepted", "booked_forwarded", "never_ends"},
    raises_when_an_answer_comes_in_pieces: {"crashed", "answer_lost"},
    forgets_a_judgement: {"unanswered"},
    lets_clients_in_after_a_rejected_login: {"forwarded_before_login", "booked_for_another"},
    takes_a_client_for_another: {"booked_for_another"},
    logs_what_a_client_sent: {"secret_told"},
    books_the_value_of_a_record: {"secret_told"},
}

RARE_MISTAKES = {
    waits_for_answers_that_nobody_can_get: (123, "lingers"),
    does_not_wait_for_the_broker_once_its_client_has_ended: (280, "accepted_lost"),
}
"""Mistakes that few worlds meet, each with the seed of one. If it meets it no more, another does."""


# Mistakes that only a hostile client meets


def believes_a_client_that_calls_itself_a_tool(patch):
    plain = Policies.of

    def wrong(self, *facts):
        found = plain(self, *facts)
        return replace(found, mode=Mode.OFF) if self.peer.client_id == "__admin_client" else found

    patch.setattr(Policies, "of", wrong)


def lets_clients_write_topics_of_brokers(patch):
    plain = Policies.of
    patch.setattr(Policies, "of", lambda *facts: replace(plain(*facts), only_brokers_write=False))


def believes_the_header_of_a_batch(patch):
    """As if the header's maxTimestamp were the maximum of the records."""
    plain = record_batch.read_facts

    def wrong(batch, *more):
        found = plain(batch, *more)
        if found.fault is not None or batch.max_timestamp < 0:
            return found
        return replace(found, lowest_ms=batch.base_timestamp, highest_ms=batch.max_timestamp)

    patch.setattr(record_batch, "read_facts", wrong)


def takes_a_lost_client_for_a_full_one(patch):
    """A client was lost while its buffer was full and a rejected request was delayed. The next request was
    put off until the buffer would be empty, and so for ever: the connection never ended."""

    def wrong(self):
        self._driver.begin_postponed()
        self.client_over(ClientLost())
        self._end_if_over()

    patch.setattr(Relay, "client_lost", wrong)


HOSTILE_MISTAKES = {
    believes_a_client_that_calls_itself_a_tool: {"forbidden_forwarded"},
    lets_clients_write_topics_of_brokers: {"forbidden_forwarded"},
    believes_the_header_of_a_batch: {"forbidden_forwarded"},
}
