"""A preset is never passed by because something was not known yet: histories of topics that are made, named
and answered about at any time."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.conversation import DAY_MS, HOUR_MS, LIMITS, NOW_MS, PEER, Session, view_by
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.model.policy import Preset
from tsproxy.model.verdict import TopicLimits
from tsproxy.proxy.brokers.wanted import Wanted
from tsproxy.session.effects import Emit, Judge, SendToBroker, TopicWanted
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.session.topic_names import NAME_WAIT_MS

STEP_MS = 20
AHEAD = batch([NOW_MS + 2 * HOUR_MS])
WIDE, NARROW = replace(LIMITS, after_max_ms=DAY_MS), LIMITS
VIEW = replace(view_by("r", preset=Preset.KAFKA_4), topics={}, topics_on_kafka_4={}, reads_limits=True)
MOST_MS = 2 * NAME_WAIT_MS + STEP_MS


@dataclass
class Cluster:
    """A session beside brokers of 3.9 that limit nothing themselves. They answer a question after `late_ms`:
    `made_ms` says when each topic exists, and `limits` which limits it has by the preset."""

    late_ms: int
    limits: dict[str, TopicLimits]
    made_ms: dict[str, int]
    now_ms: int = NOW_MS
    view: object = VIEW
    effects: list = field(default_factory=list)

    def __post_init__(self):
        self.fresh, self.wanted, self.asked = FreshLimits(), Wanted(), []
        self.session = Session(PEER, self.view, fresh_limits=self.fresh)

    def heard(self, effects):
        self.effects += effects
        for each in effects:
            if isinstance(each, TopicWanted):
                self.wanted.add(each.topic, "192.0.2.1", self.now_ms)
            if isinstance(each, Judge):
                self.heard(self.session.judged(each.job(), self.now_ms))

    def step(self):
        """Some time goes by. One question is under way at a time."""
        self.now_ms += STEP_MS
        session, now_ms = self.session, self.now_ms
        if not self.asked and (keys := self.wanted.take(now_ms, 1_000)):
            self.fresh.asked(keys, now_ms)
            self.asked.append((now_ms + self.late_ms, keys))
        if self.asked and self.asked[0][0] <= now_ms:
            _, keys = self.asked.pop()
            read = [key for key in keys if self.made_ms.get(key, now_ms + 1) <= now_ms]
            self.fresh.answered(read)
            known = {**self.view.topics_on_kafka_4, **{key: self.limits[key] for key in read}}
            unlimited = dict.fromkeys(known, TopicLimits())
            self.view = replace(self.view, topics=unlimited, topics_on_kafka_4=known)
            self.heard(session.apply_view(self.view, now_ms))
            self.wanted.known(read)
            self.wanted.missed([key for key in keys if key not in read], now_ms)
        if session.next_deadline_ms is not None and session.next_deadline_ms <= now_ms:
            self.heard(session.deadline_passed(now_ms))

    def sends(self, topics):
        """How long a request to these topics is held, each with a record two hours ahead, and how many of
        these records are forwarded."""
        began_ms, self.effects = self.now_ms, []
        self.heard(self.session.client_bytes(produce({topic: {0: AHEAD} for topic in topics}), began_ms))
        while self.session.is_judging:
            self.step()
        sent = [each.data for each in self.effects if isinstance(each, SendToBroker)]
        return self.now_ms - began_ms, b"".join(sent).count(AHEAD)

    def rests(self, for_ms):
        for _ in range(0, for_ms, STEP_MS):
            self.step()


def cluster(names, made_ms=NOW_MS, limits=NARROW, late_ms=STEP_MS):
    return Cluster(late_ms, dict.fromkeys(names, limits), dict.fromkeys(names, made_ms))


NAMES = [f"t{number}" for number in range(200)]
HISTORIES = st.tuples(
    st.sampled_from([0, 20, 60, 300, 999, 5_000]),  # how late answers come
    st.lists(st.sampled_from([0, 0, 500, 1_500, 10**6]), min_size=200, max_size=200),  # when topics are made
    st.lists(st.tuples(st.integers(1, 200), st.sampled_from([0, 100, 2_000])), min_size=1, max_size=3),
)


@given(HISTORIES)
def test_nothing_outside_a_preset_is_forwarded_whatever_is_known(history):
    late_ms, made, requests = history
    made_ms = {name: NOW_MS + after_ms for name, after_ms in zip(NAMES, made, strict=True)}
    world = Cluster(late_ms, dict.fromkeys(NAMES, NARROW), made_ms)
    for number, pause_ms in requests:
        held_ms, forwarded = world.sends(NAMES[:number])
        assert forwarded == 0
        assert held_ms <= MOST_MS
        assert len([each for each in world.effects if isinstance(each, Emit)]) == number
        world.rests(pause_ms)


@pytest.mark.parametrize("number", [1, 50, 51, 60, 200])
@pytest.mark.parametrize("made_ms", [NOW_MS, NOW_MS + 3 * NAME_WAIT_MS], ids=["there", "named before"])
@pytest.mark.parametrize("limits", [NARROW, WIDE], ids=["narrow", "wide"])
def test_topics_are_judged_by_their_own_limits_as_soon_as_they_can_be_told(number, made_ms, limits):
    """A preset rejects nothing that a topic allows itself."""
    names = NAMES[:number]
    world = cluster(names, made_ms, limits)
    if made_ms > NOW_MS:
        assert world.sends(names) == (NAME_WAIT_MS, 0)
        world.rests(made_ms - world.now_ms)
    held_ms, forwarded = world.sends(names)
    assert forwarded == (number if limits is WIDE else 0)
    assert held_ms < NAME_WAIT_MS
    assert {each.outcome.limits_unknown for each in world.effects if isinstance(each, Emit)} <= {False}


def test_a_thousand_invented_names_cost_a_second():
    world = cluster([])
    assert world.sends([f"invented-{number}" for number in range(1_000)]) == (NAME_WAIT_MS, 0)


@pytest.mark.parametrize("hidden", [True, False])
def test_limits_that_cannot_be_read_are_not_waited_for_and_a_preset_holds_alone(hidden):
    world = cluster(NAMES)
    world.view = replace(
        VIEW, **({"unreadable_topics": frozenset(NAMES)} if hidden else {"reads_limits": False})
    )
    world.session = Session(PEER, world.view, fresh_limits=world.fresh)
    assert world.sends(NAMES[:3]) == (0, 0)
    assert {each.outcome.limits_unknown for each in world.effects if isinstance(each, Emit)} == {True}
