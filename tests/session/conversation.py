"""A session's conversation, to be read from top to bottom.

    assert (
        Conversation()
        >> client(request)
        << to_broker(request)
        >> broker(answer)
        << to_client(answer)
        << booked("accepted")
    )

`>>` is what happens to the session, `<<` what it wants done about it: all of it, in order.
"""

from collections import deque
from dataclasses import dataclass, field
from hashlib import md5

from tsproxy.model.outcome import Peer
from tsproxy.model.policy import NO_POLICY, Match, Policy, Rule, RuleSettings
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import Endpoint, SessionLimits, View
from tsproxy.session.effects import (
    CloseReason,
    CloseSession,
    Emit,
    EmitDead,
    EnterStage,
    HoldBroker,
    Judge,
    MuteClient,
    NodeWanted,
    Note,
    NoteOld,
    PauseClient,
    ReadAnswer,
    ReleaseBroker,
    ResumeClient,
    SaslFailed,
    SendToBroker,
    SendToClient,
    TopicWanted,
    UnmuteClient,
    Warn,
)
from tsproxy.session.events import (
    Aborted,
    AnswerDecoded,
    BrokerBytes,
    BrokerConnected,
    BrokerEnded,
    BrokerLost,
    ClientBytes,
    ClientEnded,
    ClientLost,
    DeadlinePassed,
    Drained,
    LimitsRead,
    RequestJudged,
    ViewChanged,
)
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.session.session import Session as CoreSession
from tsproxy.session.states import SessionState

NOW_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z"""

SECOND_MS = 1_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

PEER = Peer(listener="public", client_address="192.0.2.1", client_port=50000)

LIMITS = TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS)


def id_of(topic):
    """The id that a topic of that name has in these conversations."""
    return md5(topic.encode("utf-8", "surrogateescape")).digest()  # 16 bytes, and no secret


def view_of(
    topics=("t", "u"),
    nodes=(1, 2),
    broker_needs_sasl=False,
    limits=LIMITS,
    policy=NO_POLICY,
    **session_limits,
):
    """A proxy that knows `topics`, each with `limits`, and listens for `nodes`: node n on port 9192 + n."""
    return View(
        endpoints={node: Endpoint("proxy.example", 9192 + node) for node in nodes},
        topics=dict.fromkeys(topics, limits),
        topic_names={id_of(topic): topic for topic in topics},
        limits=SessionLimits(**session_limits),
        broker_needs_sasl=broker_needs_sasl,
        policy=policy,
    )


def view_by(rule, *, limits=LIMITS, waivers=(), **settings):
    """The same proxy, where the rule of that name matches everything and sets `settings`."""
    rules = (Rule(rule, Match(), RuleSettings(**settings)),)
    return view_of(limits=limits, policy=Policy(rules=rules, waivers=waivers))


def read(asked_ms, *topics):
    """The limits of these topics are those that brokers were asked for at that time."""
    fresh_limits = FreshLimits()
    fresh_limits.asked(topics, asked_ms)
    fresh_limits.answered(topics)
    return fresh_limits


def fed_with(event):
    """A method that gets the facts of the event, and then the time."""

    def fed(self, *told):
        *facts, now_ms = told or (NOW_MS,)
        return self.feed(event(*facts), now_ms)

    return fed


class Session(CoreSession):
    """A session with a method for each event, and one clock."""

    client_bytes = fed_with(ClientBytes)
    client_ended = fed_with(ClientEnded)
    client_lost = fed_with(ClientLost)
    broker_bytes = fed_with(BrokerBytes)
    broker_connected = fed_with(BrokerConnected)
    broker_ended = fed_with(BrokerEnded)
    broker_lost = fed_with(BrokerLost)
    abort = fed_with(Aborted)
    answer_read = fed_with(AnswerDecoded)
    apply_view = fed_with(ViewChanged)
    deadline_passed = fed_with(DeadlinePassed)
    drained = fed_with(Drained)
    judged = fed_with(RequestJudged)

    def ask(self, request):
        """Sends it, and has it judged where it is judged beside the loop."""
        for effect in self.client_bytes(request, NOW_MS):
            if isinstance(effect, Judge):
                self.judged(effect.job(), NOW_MS)

    def tell(self, answer):
        """The effects of an answer; a large one is read beside the loop."""
        effects = self.broker_bytes(answer, NOW_MS)
        for effect in effects:
            if isinstance(effect, ReadAnswer):
                effects = effects + self.answer_read(effect.job(), NOW_MS)
        return effects

    @property
    def is_delayed(self):
        return self._state.current is SessionState.DELAYED


class Conversation:
    """One session, its clock standing still at NOW_MS unless `at` moves it."""

    def __init__(self, view=None, peer=PEER, *, uses_fast_path=False, throttle=None, **more):
        self.fresh_limits = more.pop("fresh_limits", FreshLimits())
        self.session = Session(
            peer,
            view or view_of(),
            uses_fast_path=uses_fast_path,
            throttle=throttle,
            fresh_limits=self.fresh_limits,
            **more,
        )
        self.now_ms = NOW_MS
        self.jobs = deque()
        """The work that threads still have to do."""
        self._effects = deque()
        self._said = []

    def __rshift__(self, event):
        self._nothing_is_left()
        # tests/session/test_old_versions.py asks about the notes of old versions.
        self._effects = deque(effect for effect in event(self) if not isinstance(effect, NoteOld))
        self.jobs += [effect for effect in self._effects if isinstance(effect, Judge | ReadAnswer)]
        return self

    def __lshift__(self, expected):
        if isinstance(expected, tuple):
            for each in expected:
                self << each
            return self
        assert self._effects, f"nothing where {expected} is due, after: {self._said}"
        effect = self._effects.popleft()
        assert expected.fits(effect), f"{effect}\n where {expected} is due, after: {self._said}"
        self._said.append(expected)
        return self

    def in_step(self, asked, said, *told):
        """A request goes on, and the client is not read until its answer; behind the answer comes `told`."""
        return self >> client(asked) << to_broker(asked) << paused >> broker(said) << to_client(said) << told

    def __bool__(self):
        self._nothing_is_left()
        return True

    def _nothing_is_left(self):
        assert not self._effects, f"left unsaid: {list(self._effects)}, after: {self._said}"


# -- What happens -----------------------------------------------------------------------------------


def client(*frames):
    return lambda conversation: conversation.session.client_bytes(b"".join(frames), conversation.now_ms)


def broker(*frames):
    return lambda conversation: conversation.session.broker_bytes(b"".join(frames), conversation.now_ms)


def as_it_came(event, expected):
    """These bytes go on as they came. The other effects are those of the event."""

    def happens(conversation):
        first, *others = event(conversation)
        assert expected.fits(first), first
        return others

    return happens


def forwarded(*frames):
    return as_it_came(client(*frames), to_broker(*frames))


def returned(*frames):
    return as_it_came(broker(*frames), to_client(*frames))


def relayed(asked, said):
    """A request goes on as it came, and so does its answer. The other effects are those of the answer."""
    return lambda conversation: returned(said)(conversation >> forwarded(asked))


def happens(event):
    """An event that has no bytes: a method of `Session`."""
    return lambda conversation: event(conversation.session, conversation.now_ms)


broker_connects = happens(Session.broker_connected)
broker_ends = happens(Session.broker_ended)
broker_is_lost = happens(Session.broker_lost)
client_ends = happens(Session.client_ended)
client_is_lost = happens(Session.client_lost)
proxy_drains = happens(Session.drained)
proxy_cuts = happens(Session.abort)


def thread_judges(conversation):
    """The thread is done with the only `Judge` that was asked for."""
    judge = conversation.jobs.popleft()
    return conversation.session.judged(judge.job(), conversation.now_ms)


def thread_reads(conversation):
    """The same for a `ReadAnswer`."""
    read = conversation.jobs.popleft()
    return conversation.session.answer_read(read.job(), conversation.now_ms)


def at(now_ms):
    def happens(conversation):
        conversation.now_ms = now_ms
        return ()

    return happens


def later(by_ms):
    """So much later; the session is called if its deadline has passed."""

    def happens(conversation):
        conversation.now_ms += by_ms
        deadline_ms = conversation.session.next_deadline_ms
        has_passed = deadline_ms is not None and deadline_ms <= conversation.now_ms
        return conversation.session.deadline_passed(conversation.now_ms) if has_passed else ()

    return happens


def view_becomes(view):
    def happens(conversation):
        return conversation.session.apply_view(view, conversation.now_ms)

    return happens


def limits_are_read(*topics, view=None):
    """Brokers were asked for the limits of these topics now, and have answered: with those of `view`."""

    def happens(conversation):
        session, now_ms = conversation.session, conversation.now_ms
        conversation.fresh_limits.asked(topics, now_ms)
        conversation.fresh_limits.answered(topics)
        effects = session.apply_view(view, now_ms) if view is not None else []
        return [*effects, *session.feed(LimitsRead(), now_ms)]

    return happens


# -- What the session does about it -----------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """An effect of this kind with these fields; an Emit's are its outcome's, an EmitDead's its batch's."""

    kind: type
    fields: dict = field(default_factory=dict)

    def fits(self, effect):
        if type(effect) is not self.kind:
            return False
        value = effect.outcome if isinstance(effect, Emit) else effect
        value = effect.batch if isinstance(effect, EmitDead) else value
        return all(getattr(value, name) == wanted for name, wanted in self.fields.items())


def to_broker(*frames):
    return Expected(SendToBroker, {"data": b"".join(frames)})


def to_client(*frames):
    return Expected(SendToClient, {"data": b"".join(frames)})


def booked(verdict, **facts):
    return Expected(Emit, {"verdict": verdict, **facts})


def buried(**facts):
    return Expected(EmitDead, facts)


def closed(reason: CloseReason, **fields):
    return Expected(CloseSession, {"reason": reason, **fields})


def noted(event, **fields):
    return Expected(Note, {"event": event, **fields})


def warned(name, **fields):
    return Expected(Warn, {"name": name, **fields})


sasl_failed = Expected(SaslFailed)


def topic_wanted(topic):
    return Expected(TopicWanted, {"topic": topic})


def node_wanted(node_id):
    return Expected(NodeWanted, {"node_id": node_id})


broker_held = Expected(HoldBroker)
broker_released = Expected(ReleaseBroker)


def muted(throttle_ms):
    return Expected(MuteClient, {"throttle_ms": throttle_ms})


unmuted = Expected(UnmuteClient)


def enters(stage):
    return Expected(EnterStage, {"stage": stage})


judged_beside = Expected(Judge)
read_beside = Expected(ReadAnswer)
paused = Expected(PauseClient)
resumed = Expected(ResumeClient)
