"""The fast path in a view that has changed: what holds stays, and what does not is never followed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attacks.steps import bytecodes
from tests.session.conversation import DAY_MS, HOUR_MS, LIMITS, NOW_MS, PEER, Session, view_by
from tests.session.messages import accepted, produce, produced
from tests.wire.batches import batch
from tsproxy.model.policy import Mode
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import Unchanged
from tsproxy.session.effects import SendToBroker, SendToClient
from tsproxy.session.events import BrokerBytes, ClientBytes, ViewChanged

VIEW = view_by("rule", limits=LIMITS)
STRICT = replace(LIMITS, before_max_ms=HOUR_MS)
OLD = batch([NOW_MS - 2 * HOUR_MS])


def asked(topic="t", records=OLD, correlation_id=1):
    return produce({topic: {0: records}}, correlation_id=correlation_id)


def said(topic="t", correlation_id=1):
    return produced({topic: {0: accepted()}}, correlation_id=correlation_id)


def with_limits(view, limits, topic="t"):
    return replace(view, topics={**view.topics, topic: limits})


@pytest.fixture
def session():
    """A session whose fast path has learnt the topic."""
    session = Session(PEER, VIEW, uses_fast_path=True)
    session.feed(ClientBytes(asked()), NOW_MS)
    session.feed(BrokerBytes(said()), NOW_MS)
    assert is_fast(session)
    return session


def is_fast(session):
    """True if the fast path forwards the topic's requests."""
    table = session.fast_path.requests.table
    return table is not None and "t" in table


def test_another_topic_takes_the_fast_path_from_nobody(session):
    """A client that names topics would slow every client down by a factor of twenty."""
    session.feed(ViewChanged(with_limits(VIEW, STRICT, "another")), NOW_MS)
    assert is_fast(session)


def test_a_comparison_of_two_other_views_is_not_trusted(session):
    """It would say that nothing has changed."""
    strict = with_limits(VIEW, STRICT)
    session.feed(ViewChanged(strict, Unchanged(strict, replace(strict))), NOW_MS)
    assert not is_fast(session)


def test_a_view_costs_a_connection_the_same_however_many_topics_it_has_learnt():
    """A client causes a view by naming a topic, and may have a thousand connections: each took 0.3 ms."""
    topics = [f"t{number}" for number in range(200)]
    view = replace(VIEW, topics=dict.fromkeys(topics, LIMITS))
    after = with_limits(view, LIMITS, "another")
    unchanged, counts = Unchanged(view, after), []
    for named in (topics, topics, topics[:1]):  # the first one compares the topics for all
        session = Session(PEER, view, uses_fast_path=True)
        session.feed(ClientBytes(produce({each: {0: batch([0])} for each in named[:100]})), NOW_MS)
        session.feed(ClientBytes(produce({each: {0: OLD} for each in named[-100:]})), NOW_MS)
        assert {*session.fast_path.requests.table.known_topics} == {*named}
        counts.append(bytecodes(session.feed, ViewChanged(after, unchanged), NOW_MS)[1])
        assert session.fast_path.requests.table is not None
    assert counts[1] == counts[2]


@pytest.mark.parametrize(
    "changed",
    [
        with_limits(VIEW, STRICT),
        replace(VIEW, topics={}),
        replace(VIEW, topics_on_kafka_4={"t": STRICT}),
        replace(VIEW, limits=replace(VIEW.limits, records_per_batch=1)),
        replace(VIEW, policy=replace(VIEW.policy, is_suspended=True)),
    ],
)
def test_what_was_learnt_is_forgotten_with_what_it_rests_on(session, changed):
    session.feed(ViewChanged(changed), NOW_MS)
    assert not is_fast(session)


VIEWS = st.builds(
    lambda limits, more, policy: replace(
        VIEW, topics={**limits, **more}, policy=replace(VIEW.policy, **policy) if policy else VIEW.policy
    ),
    st.dictionaries(st.sampled_from("tu"), st.sampled_from([LIMITS, STRICT, TopicLimits()])),
    st.dictionaries(st.sampled_from(["v", "w"]), st.just(LIMITS)),
    st.sampled_from([{}, {"mode": Mode.AUDIT}, {"is_suspended": True}]),
)
REQUESTS = st.tuples(
    st.sampled_from("tu"), st.sampled_from([0, 2 * HOUR_MS, 40 * DAY_MS, -2 * HOUR_MS]), st.booleans()
)


@given(st.lists(st.one_of(VIEWS, REQUESTS), max_size=25))
def test_in_any_views_the_fast_path_changes_no_byte(steps):
    fast, slow = (Session(PEER, VIEW, uses_fast_path=uses) for uses in (True, False))
    for number, step in enumerate(steps):
        if not isinstance(step, tuple):
            for session in (fast, slow):
                session.feed(ViewChanged(step), NOW_MS)
            continue
        topic, behind_ms, is_answered = step
        frame = asked(topic, batch([NOW_MS - behind_ms]), number)
        sent = [bytes_of(session.feed(ClientBytes(frame), NOW_MS)) for session in (fast, slow)]
        assert sent[0] == sent[1]
        if sent[0][0] and is_answered:
            answers = [bytes_of(s.feed(BrokerBytes(said(topic, number)), NOW_MS)) for s in (fast, slow)]
            assert answers[0] == answers[1]
        elif sent[0][0]:
            return


def bytes_of(effects):
    """(what goes to the broker, what goes to the client)."""
    kinds = (SendToBroker, SendToClient)
    return tuple(b"".join(e.data for e in effects if isinstance(e, kind)) for kind in kinds)
