"""Mistakes of the product, to be planted: each is one that could be made, and that worlds must find.

A mistake takes the place of one function: it gets the function and its arguments. It plants itself with
pytest's `monkeypatch`. The tables have the mistakes with the invariants that notice them.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
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

MISTAKES: dict[Callable, set[str]] = {}
RARE_MISTAKES: dict[Callable, set[str]] = {}
"""Mistakes that few worlds meet: `SEEDS` has one for each. If it meets it no more, another does."""
HOSTILE_MISTAKES: dict[Callable, set[str]] = {}
"""Mistakes that only a hostile client meets."""


def _mistake(owner, name, *noticed_by, every=1, among=MISTAKES):
    """It is made with each call of that function, or `every` so many calls."""

    def planted(wrong):
        @wraps(wrong)
        def plant(patch):
            plain, calls = getattr(owner, name), count(1)

            def called(*arguments, **facts):
                is_now = next(calls) % every == 0
                return wrong(plain, *arguments, **facts) if is_now else plain(*arguments, **facts)

            patch.setattr(owner, name, called)

        among[plant] = set(noticed_by)
        return plant

    return planted


@_mistake(judge, "first_rejection", "forbidden_forwarded", "answered_falsely", every=10)
def forwards_a_forbidden_batch(plain, context):
    return None


@_mistake(State, "answer_locally", "answered_out_of_order", every=10)
def answers_twice(plain, self, answer):
    plain(self, answer)
    plain(self, answer)


@_mistake(State, "answer_locally", "answered_out_of_order")
def answers_before_its_turn(plain, self, answer):
    self.send_to_client(answer)


@_mistake(State, "emit", "booked_twice", every=10)
def books_twice(plain, self, booked):
    plain(self, list(booked) * 2)


_NOT_COUNTED = ("booked_accepted", "booked_rejected", "booked_forwarded", "booked_all", "not_booked")


@_mistake(State, "drain_totals", *_NOT_COUNTED, every=10)
def forgets_what_the_fast_path_counted(plain, self):
    plain(self)
    return []


@_mistake(addresses, "rewrite", "address_leaked")
def leaks_an_address(plain, key, version, reader, *_):
    return bytes(reader.data)


@_mistake(Relay, "client_lost", "never_ends", "left_behind")
def leaves_a_task(plain, self):
    asyncio.get_running_loop().create_task(asyncio.sleep(10**9))
    plain(self)


@_mistake(RelayProtocol, "connection_lost", "left_behind")
def leaves_a_timer(plain, self, exc):
    self._abort = None
    plain(self, exc)


@_mistake(Relay, "drain", "answer_lost")
def loses_a_request_when_it_drains(plain, self):
    self.client_over(Aborted())


@_mistake(Relay, "client_ended", "answer_lost", "answer_cut_short")
def loses_answers_of_a_client_that_sends_no_more(plain, self):
    self.client_over(Aborted())
    return False


@_mistake(Lifetime, "ended_by", "never_ends", "lingers")
def waits_for_ever_for_an_end_that_is_over(plain, self, **facts):
    return None


@_mistake(Session, "_limit_half_closed", "half_closed_for_ever")
def lets_a_client_that_sends_no_more_wait_for_ever(plain, self):
    pass


@_mistake(Lifetime, "ended_by", "lingers", among=RARE_MISTAKES)
def waits_for_answers_that_nobody_can_get(plain, self, **facts):
    is_lost = self.client is ClientEnd.LOST and facts["is_owed"]
    return None if is_lost else plain(self, **facts)


@_mistake(Lifetime, "ended_by", "accepted_lost", among=RARE_MISTAKES)
def does_not_wait_for_the_broker_once_its_client_has_ended(plain, self, **facts):
    is_early = self.client is ClientEnd.ENDED and not facts["is_owed"]
    return End.CLIENT if is_early else plain(self, **facts)


SEEDS = {
    waits_for_answers_that_nobody_can_get: 123,
    does_not_wait_for_the_broker_once_its_client_has_ended: 280,
}


@_mistake(Lifetime, "ended_by", "accepted_lost")
def drops_the_request_of_a_client_that_is_lost(plain, self, **facts):
    is_judged = self.client is ClientEnd.LOST and facts["holds_request"]
    return End.CLIENT if is_judged else plain(self, **facts)


@_mistake(Lifetime, "ended_by", "answer_lost")
def drops_the_answer_that_is_read(plain, self, **facts):
    return plain(self, **{**facts, "reads_answer": False})


@_mistake(RelayProtocol, "finish", "answer_lost", "accepted_lost", "reset_by_proxy")
def does_not_wait_for_the_last_bytes(plain, self):
    if self.transport:
        self.transport.abort()


@_mistake(Relay, "client_bytes", "unanswered", "answer_lost", "accepted_lost", "not_booked")
def forgets_bytes_that_came_early(plain, self, data):
    if not self._is_connecting:
        plain(self, data)


@_mistake(Relay, "take_view", "answer_lost", "booked_accepted", "booked_forwarded", "never_ends")
def takes_a_view_for_the_end(plain, self):
    if self.view_number != self._views.newest.number:
        self.close(CloseReason.PEER_CLOSED, "")
    plain(self)


@_mistake(AnswerStream, "feed", "crashed", "answer_lost")
def raises_when_an_answer_comes_in_pieces(plain, self, data):
    if len(data) < 4:
        raise IndexError("a piece of three bytes")
    plain(self, data)


@_mistake(Session, "_request_judged", "unanswered", every=10)
def forgets_a_judgement(plain, self, judgement, now_ms):
    pass


@_mistake(SaslWatch, "token_answered", "forwarded_before_login", "booked_for_another")
def lets_clients_in_after_a_rejected_login(plain, self, _, *more):
    plain(self, 0, *more)


@_mistake(SaslWatch, "__init__", "booked_for_another", every=10)
def takes_a_client_for_another(plain, self, needed, principal, claim):
    plain(self, needed, "User:somebody", claim)


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


MISTAKES[logs_what_a_client_sent] = {"secret_told"}


@_mistake(State, "emit", "secret_told")
def books_the_value_of_a_record(plain, self, booked):
    name = repr(PLANTED["value"])
    plain(self, [replace(outcome, transactional_id=name) for outcome in booked])


@_mistake(Policies, "of", "forbidden_forwarded", among=HOSTILE_MISTAKES)
def believes_a_client_that_calls_itself_a_tool(plain, self, *facts):
    policy = plain(self, *facts)
    return replace(policy, mode=Mode.OFF) if self.peer.client_id == "__admin_client" else policy


@_mistake(Policies, "of", "forbidden_forwarded", among=HOSTILE_MISTAKES)
def lets_clients_write_topics_of_brokers(plain, *facts):
    return replace(plain(*facts), only_brokers_write=False)


@_mistake(record_batch, "read_facts", "forbidden_forwarded", among=HOSTILE_MISTAKES)
def believes_the_header_of_a_batch(plain, batch, *more):
    """As if the header's maxTimestamp were the maximum of the records."""
    facts = plain(batch, *more)
    if facts.fault is not None or batch.max_timestamp < 0:
        return facts
    return replace(facts, lowest_ms=batch.base_timestamp, highest_ms=batch.max_timestamp)


@_mistake(Relay, "client_lost", "lingers", among={})
def takes_a_lost_client_for_a_full_one(plain, self):
    """A client was lost while its buffer was full and a rejected request was delayed. The next request was
    put off until the buffer would be empty, and so for ever: the connection never ended."""
    self._driver.begin_postponed()
    self.client_over(ClientLost())
    self._end_if_over()
