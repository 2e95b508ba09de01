"""The memory that stays with a connection: little, only of topics that exist, and counted."""

import gc
import tracemalloc

import pytest

from tests.session.conversation import HOUR_MS, NOW_MS, PEER, Session, view_of
from tests.session.messages import accepted, produce, produced
from tests.wire.batches import batch
from tsproxy.model.policy import LimitsFrom, Policy, RuleSettings, TimeLimit
from tsproxy.session.policies import KEPT, MAX_UNKNOWN, Policies
from tsproxy.session.state import FREE_BYTES

A_ROW = 700
"""A row takes at least so many bytes."""
GOOD = batch([NOW_MS])
BAD = batch([NOW_MS + 2 * HOUR_MS])
MADE_UP = {f"__made-up-{n}": {0: GOOD} for n in range(1_000)}
FROM_CONFIG = Policy(limits_from=LimitsFrom.CONFIG, defaults=RuleSettings(after=TimeLimit(HOUR_MS)))
"""The proxy does not know of any topic whether it exists."""
EXISTING = [f"existing-{n}" for n in range(1_000)]


def session_with(view):
    return Session(PEER, view, uses_fast_path=True)


def rows(session):
    table = None if session.fast_path is None else session.fast_path.requests.table
    return 0 if table is None else table.kept


def test_topics_that_do_not_exist_leave_nothing():
    """Finding 12: a request for 1,000 topics, internal ones by name, left 1,040 KiB with its connection."""
    session = session_with(view_of())
    session.ask(produce(MADE_UP))
    told = {topic: {0: {"error_code": 3, "base_offset": -1}} for topic in MADE_UP}
    session.tell(produced(told))
    assert rows(session) == 0
    assert session.held_bytes == 0


def test_a_topic_of_which_a_broker_accepts_batches_is_forwarded_though_nobody_knows_its_limits():
    session = session_with(view_of(topics=(), policy=FROM_CONFIG))
    session.client_bytes(produce({"t": {0: GOOD}}, correlation_id=1), NOW_MS)
    assert rows(session) == 0
    session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=1), NOW_MS)
    session.drain_totals()
    assert rows(session) == 1
    again = produce({"t": {0: GOOD}}, correlation_id=2)
    assert session.fast_path.requests.forward_read(again, NOW_MS) == len(again)


def test_rows_of_topics_that_exist_are_few_and_counted():
    session = session_with(view_of(topics=EXISTING))
    for n in range(3):
        session.ask(produce({topic: {0: GOOD} for topic in EXISTING}, correlation_id=n))
        session.tell(produced({topic: {0: accepted()} for topic in EXISTING}, correlation_id=n))
    assert rows(session) == 256
    assert session.held_bytes >= 256 * A_ROW - FREE_BYTES


def test_rejections_of_topics_that_nobody_knows_are_few():
    session = session_with(view_of(topics=(), policy=FROM_CONFIG))
    for n in range(0, 1_000, 10):
        bad = {f"made-up-{n + i}": {0: BAD} for i in range(10)}
        session.client_bytes(produce(bad, correlation_id=n), NOW_MS)
    assert 0 < rows(session) <= MAX_UNKNOWN


def test_policies_of_topics_that_nobody_knows_are_few():
    policies = Policies(PEER, view_of(topics=EXISTING))
    for topic in [*MADE_UP, *EXISTING[:100], *MADE_UP]:
        policies.of(topic, NOW_MS)
        assert len(policies) <= MAX_UNKNOWN + 100
    for topic in EXISTING:
        policies.of(topic, NOW_MS)
    assert len(policies) <= KEPT.most


def test_tables_that_are_retired_are_counted_until_their_requests_are_answered():
    """A client may call itself something else in each request."""
    session = session_with(view_of(topics=EXISTING))
    some = EXISTING[:50]
    for n in range(10):
        session.client_bytes(
            produce({topic: {0: GOOD} for topic in some}, correlation_id=2 * n, client_id=f"c{n}"), NOW_MS
        )
        again = produce({topic: {0: GOOD} for topic in some}, correlation_id=2 * n + 1, client_id=f"c{n}")
        assert session.fast_path.requests.forward_read(again, NOW_MS) == len(again)
    assert session.held_bytes >= 10 * 50 * A_ROW - FREE_BYTES
    for n in range(20):
        session.broker_bytes(produced({topic: {0: accepted()} for topic in some}, correlation_id=n), NOW_MS)
    assert session.owes_totals
    session.drain_totals()
    assert session.held_bytes < 100 * A_ROW


@pytest.mark.parametrize("uses_fast_path", [False, True])
def test_what_is_kept_of_many_partitions_is_counted_until_they_are_answered(uses_fast_path):
    session = Session(PEER, view_of(), uses_fast_path=uses_fast_path)
    asked = produce({"t": dict.fromkeys(range(3_000), GOOD)}, correlation_id=1)
    session.ask(asked)
    assert session.held_bytes >= 3_000 * 512
    session.tell(produced({"t": dict.fromkeys(range(3_000), accepted())}, correlation_id=1))
    assert session.held_bytes < 1024


@pytest.mark.parametrize("name", ["t" * 250, "t" * 32_000, "a topic", "..", "t\udc80"])
def test_no_policy_is_kept_of_a_name_that_no_topic_has(name):
    policies = Policies(PEER, view_of())
    assert policies.of(name, NOW_MS).rule
    assert len(policies) == 0


def grown_by(act):
    """(the bytes that were allocated by `act` and are still held, what it returns)."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        returned = act()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before, returned
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("length", [10, 249])
def test_rejections_are_counted_as_the_memory_that_they_take(length):
    """Names of 256 topics with seven kinds of times took 1.5 MiB, and 242 KiB were counted."""
    first, session = (session_with(view_of(topics=(), policy=FROM_CONFIG)) for _ in range(2))
    topics = [f"{n}-".ljust(length, "t") for n in range(30)]
    times_ms = [NOW_MS + 2 * HOUR_MS, NOW_MS // 1000, NOW_MS * 1000, NOW_MS * 1_000_000]

    def reject_all(session):
        for n, time_ms in enumerate(times_ms):
            session.ask(produce({topic: {0: batch([time_ms])} for topic in topics}, correlation_id=n))
        session.drain_totals()

    reject_all(first)  # caches of the process, and the memory of a tool that traces the tests
    grown, _ = grown_by(lambda: reject_all(session))
    assert rows(session) == len(topics)
    assert grown <= session.fast_path.held_bytes + session._state.policies.held_bytes + 8_000
    assert session.fast_path.held_bytes <= 2 * grown


@pytest.mark.parametrize("length", [10, 249])
def test_policies_are_counted_as_the_memory_that_they_take(length):
    topics = [f"{n}-".ljust(length, "t") for n in range(200)]
    policies = Policies(PEER, view_of(topics=topics, policy=FROM_CONFIG))
    grown, _ = grown_by(lambda: [policies.of("".join(list(topic)), NOW_MS) for topic in topics] and None)
    assert grown <= policies.held_bytes + 8_000


def test_a_long_transactional_id_is_counted():
    session = session_with(view_of())
    for n, transactional_id in enumerate(("short", "\U0001f600" * 8_000)):
        session.ask(produce({"t": {0: GOOD}}, correlation_id=n, transactional_id=transactional_id))
    assert session.fast_path.held_bytes > 4 * 32_000


def test_what_a_session_keeps_of_ids_and_topics_beside_its_policies_is_counted():
    session = Session(PEER, view_of())
    before = session.held_bytes
    state = session._state
    state.ids_given_up.add([n.to_bytes(16, "big") for n in range(1_000)], NOW_MS)
    state.topics_given_up.add([f"t{n}".ljust(249, "t") for n in range(50)])
    assert session.held_bytes - before > 150_000


@pytest.mark.parametrize("uses_fast_path", [False, True])
def test_a_thousand_ordinary_clients_count_as_little(uses_fast_path):
    """Each has five requests in flight, with three partitions."""
    session = Session(PEER, view_of(), uses_fast_path=uses_fast_path)
    for n in range(5):
        session.ask(produce({"t": dict.fromkeys(range(3), GOOD)}, correlation_id=n))
    assert 0 < 1_000 * session.held_bytes < 16 << 20
