"""The state that the two halves of a session share: its client, the requests in flight, the effects.

Both halves add bytes and effects here; `take_effects` returns them once an event is handled.
"""

from collections.abc import Collection, Iterable
from typing import Final

from tsproxy.decisions.totals import Totals
from tsproxy.fastpath import InFlight
from tsproxy.model.kafka import ApiKey
from tsproxy.model.outcome import Outcome, Peer, VerdictName
from tsproxy.model.view import View
from tsproxy.session import outcomes
from tsproxy.session.deadlines import Deadlines, Wait
from tsproxy.session.effects import (
    CloseReason,
    CloseSession,
    Effect,
    Emit,
    MuteClient,
    Note,
    SendToBroker,
    SendToClient,
)
from tsproxy.session.fast_path import FastPath, slot_of
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.session.job import Work
from tsproxy.session.policies import Policies
from tsproxy.session.sasl import SaslWatch
from tsproxy.session.slots import SLOT_BYTES, BookProduce, Local, Slot
from tsproxy.session.states import Cause, SessionState, after, first_state
from tsproxy.session.throttle import Throttle
from tsproxy.session.topic_names import IdsGivenUp, NamesOnly, TopicsGivenUp
from tsproxy.session.verdict import RequestVerdict
from tsproxy.wire.apis import APIS
from tsproxy.wire.k18_api_versions import BrokerVersions, Versions, produce_versions

FREE_BYTES: Final = 64 << 10
ANY_VERSION: Final[Versions] = (0, APIS[ApiKey.PRODUCE].max_version)
"""The versions of Produce that are taken until a broker has said which versions it takes."""


class State:
    """The state of one session. `fast_path` is None if everything takes the slow path."""

    def __init__(
        self,
        peer: Peer,
        view: View,
        fast_path: FastPath | None,
        throttle: Throttle,
        names_only: NamesOnly,
        fresh_limits: FreshLimits,
    ) -> None:
        self.peer = peer
        self.client_id: str | None = None
        """The client id of the last request that was taken here, after the login."""
        self.view = view
        self.fast_path = fast_path
        self.slots = InFlight(slot_of) if fast_path is None else fast_path.slots
        self.sasl = SaslWatch(view.broker_needs_sasl, peer.principal, view.bearer_claim)
        self.throttle = throttle
        self.names_only = names_only
        self.fresh_limits = fresh_limits
        self.ids_given_up = IdsGivenUp()
        self.topics_given_up = TopicsGivenUp()
        self.deadlines = Deadlines()
        self.current = first_state(view.broker_needs_sasl)
        self._held_bytes = 0
        self._work: Work | None = None
        self.waiting_bytes = 0
        """Size of our own answers that wait in the queue behind the broker's answers."""
        self.effects: list[Effect] = []
        self.owes_totals = False
        """True if `drain_totals` is due before the effects are performed."""
        self._ending: CloseSession | None = None
        """The last effect, known while the state is ENDING."""
        self._offered: Versions | None = None
        self._policies = Policies(peer, view)
        self._to_broker: list[bytes] = []
        self._to_client: list[bytes] = []
        self.offer_versions()

    def identify(self, peer: Peer) -> None:
        """Set the peer. No request has been taken yet."""
        self.peer = peer
        self.sasl = SaslWatch(self.view.broker_needs_sasl, peer.principal, self.view.bearer_claim)

    @property
    def produce_versions(self) -> Versions:
        """The oldest and the newest version of Produce that both the broker and the proxy take. The broker's
        versions come from its answer on this connection, or else from the view. A connection that was offered
        topic ids keeps them when the proxy loses its permission: the names that it knows stay right."""
        oldest, newest = self._offered or self.view.produce_versions or ANY_VERSION
        return oldest, min(newest, APIS[ApiKey.PRODUCE].max_version)

    def offered(self, offers: BrokerVersions | None) -> None:
        """The broker has answered an ApiVersions request. `offers` is None if the broker offered no
        versions."""
        if offers is not None:
            self._offered = produce_versions(offers)
            self.offer_versions()

    def offer_versions(self) -> None:
        """Tell the fast path which versions of Produce it may forward."""
        if self.fast_path is not None:
            self.fast_path.offer(*self.produce_versions)

    @property
    def policies(self) -> Policies:
        if self._policies.peer is not self.peer or self._policies.view is not self.view:
            self._policies = Policies(self.peer, self.view)
        return self._policies

    def drop_policies(self) -> None:
        """Keep none of an older view: it may be large, and this connection idle."""
        self._policies = Policies(self.peer, self.view)

    def change(self, cause: Cause) -> None:
        self.current = after(self.current, cause)

    @property
    def is_closed(self) -> bool:
        return self.current is SessionState.CLOSED

    def hold_request(self, cause: Cause, size_bytes: int, work: Work | None = None) -> None:
        """A request stays here until `release_request`. A thread that judges it does `work`."""
        self.change(cause)
        self._held_bytes, self._work = size_bytes, work

    def release_request(self, cause: Cause) -> None:
        self.change(cause)
        self._held_bytes, self._work = 0, None

    @property
    def judged_bytes(self) -> int:
        """Memory of the request that is held, and of what a thread has found about it."""
        return self._held_bytes + (self._work.kept_bytes if self._work is not None else 0)

    # -- Bytes --------------------------------------------------------------------------------------

    def send_to_broker(self, data: bytes) -> None:
        self._to_broker.append(data)

    def send_to_client(self, data: bytes) -> None:
        self._to_client.append(data)

    def forward(self, request: bytes, slot: Slot) -> None:
        self._to_broker.append(request)
        self.slots.push(slot, slot.held_bytes if isinstance(slot, BookProduce) else SLOT_BYTES)

    def answer_locally(self, answer: bytes) -> None:
        """Send our own answer in its turn: behind the broker's answers to earlier requests."""
        self.slots.push(Local(answer), SLOT_BYTES)
        self.waiting_bytes += len(answer)
        self.send_local_answers()

    def answered(self) -> None:
        """The request at the head of the queue has been answered: remove its slot."""
        self.slots.pop()
        self.send_local_answers()

    def send_local_answers(self) -> None:
        """Send our own answers that are at the head of the queue now."""
        while isinstance(slot := self.slots.own_head(), Local):
            self._to_client.append(slot.answer)
            self.waiting_bytes -= len(slot.answer)
            self.slots.pop()
        self._close_if_ended()

    def mute_client(self, throttle_ms: int) -> None:
        """Stop reading from the client for `throttle_ms`, as brokers do with a client that is over its
        quota."""
        self.deadlines.start(Wait.MUTE, throttle_ms)
        self.effects.append(MuteClient(throttle_ms))

    # -- Outcomes -----------------------------------------------------------------------------------

    def emit(self, booked: Iterable[Outcome]) -> None:
        self.effects += [Emit(outcome) for outcome in booked]

    def drain_totals(self) -> list[Totals]:
        self.owes_totals = False
        return [] if self.fast_path is None else self.fast_path.drain()

    def learn_answer(self, verdict: RequestVerdict, booked: Collection[Outcome]) -> None:
        """A broker has answered: from now on, the fast path may forward requests like those that the broker
        accepted. No such request is learnt if the peer has changed since (its client id, for example),
        because `policies` are those of the newest peer. A bad batch is one whoever the peer is now."""
        if self.fast_path is None:
            return
        if bad := {outcome.topic for outcome in booked if outcomes.is_bad(outcome)}:
            self.fast_path.learn_bad(verdict, bad)
        if verdict.peer == self.peer:
            accepted = {outcome.topic for outcome in booked if outcome.verdict is VerdictName.ACCEPTED}
            self.fast_path.learn_accepted(verdict, self.policies, accepted)

    @property
    def kept_bytes(self) -> int:
        """Memory for topics, and for requests that are not answered yet. The first few topics are not
        counted, because every connection has a few."""
        topics = self._policies.held_bytes + self.ids_given_up.held_bytes + self.topics_given_up.held_bytes
        if self.fast_path is not None:
            topics += self.fast_path.held_bytes
        return max(0, topics - FREE_BYTES) + self.slots.held_bytes

    def forget_fast_path(self) -> None:
        if self.fast_path is not None:
            self.fast_path.forget()

    def take_effects(self) -> list[Effect]:
        """The effects of one event: sends first, the bytes for each side in one piece; a close last."""
        done: list[Effect] = []
        if to_broker := b"".join(self._to_broker):
            done.append(SendToBroker(to_broker))
        if to_client := b"".join(self._to_client):
            done.append(SendToClient(to_client))
        done += self.effects
        self._to_broker, self._to_client, self.effects = [], [], []
        return done

    # -- How it ends --------------------------------------------------------------------------------

    def reject(self, reason: CloseReason, text: str) -> None:
        """End the session because of the client's fault: log one line for the operator, and send no answer,
        as brokers do."""
        self.effects.append(Note("client_rejected", {"reason": reason.value, "detail": text}))
        self.end(reason, text)

    def end(self, reason: CloseReason, text: str) -> None:
        """Take no further request, and close when the earlier ones are answered. A broker reads one request
        at a time, so it has answered the earlier ones before it closes. To close at once would lose answers
        to batches that are in the broker's log."""
        self.change(Cause.REJECTED)
        self._ending = CloseSession(reason, text)
        self._close_if_ended()

    def close(self, reason: CloseReason, text: str) -> None:
        if self.is_closed:
            return
        self.change(Cause.OVER)
        self._held_bytes, self._work = 0, None
        self.deadlines.cancel_all()
        for slot in self.slots.clear():
            if isinstance(slot, BookProduce):
                self.emit(outcomes.unconfirmed(slot.verdict))
        self.owes_totals = True
        self.effects.append(CloseSession(reason, text))

    def _close_if_ended(self) -> None:
        if self.current is SessionState.ENDING and self._ending is not None and not self.slots:
            self.close(self._ending.reason, self._ending.text)
