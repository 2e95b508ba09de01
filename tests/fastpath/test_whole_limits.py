"""Limits that an operator sets are whole numbers; a broker's limits are its own, with longs that wrap.

Each timestamp that wraps, or nearly does, under each limit: in the session, on the fast path, and in a
compressed batch that `inspect.compressed: auto` would leave unread.
"""

import itertools

import pytest

from tests.fastpath.test_adaptive import Producer
from tests.policy.test_timestamps import is_out_of_range_in_java
from tests.session.conversation import HOUR_MS, LIMITS, NOW_MS, PEER, Session, view_by, view_of
from tests.session.messages import accepted, produce, produced
from tests.wire.batches import batch
from tsproxy.fastpath.adaptive import TRUSTED_AFTER
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.policy import Inspect, LimitsFrom, Match, Policy, Preset, Rule, RuleSettings, TimeLimit
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.resolve import resolve
from tsproxy.session.effects import SendToBroker

WRAPS_MS = LONG_MIN + NOW_MS
"""A broker's difference to the clock wraps here, and below."""
NEAR = (-1, 0, 1)
ODD = {
    near + far
    for near in NEAR
    for far in (0, LONG_MIN + 1, LONG_MAX - 1, WRAPS_MS, WRAPS_MS + HOUR_MS, WRAPS_MS - HOUR_MS)
} | {NOW_MS + near + far for near in NEAR for far in (-HOUR_MS, 0, HOUR_MS)}
BOUNDS = (None, 0, HOUR_MS)


def by_rule(settings):
    return Policy(rules=(Rule("own", Match(), settings),))


OPERATORS = {
    "file": lambda given: Policy(limits_from=LimitsFrom.CONFIG, defaults=given),
    "stricter": lambda given: Policy(limits_from=LimitsFrom.STRICTER, defaults=given),
    "rule": by_rule,
}
BROKERS = {"topic": lambda _: Policy(), "preset": lambda _: by_rule(RuleSettings(preset=Preset.KAFKA_4))}
CASES = [
    *itertools.product([*OPERATORS, "topic"], BOUNDS, BOUNDS),
    ("preset", None, HOUR_MS),  # the preset's own limits
]


def world(who, before_ms, after_ms):
    """The policy, and the topic's own limits."""
    given = RuleSettings(before=TimeLimit(before_ms), after=TimeLimit(after_ms))
    limits = (before_ms, after_ms) if who == "topic" else (None, None)
    known = TopicLimits(before_max_ms=limits[0], after_max_ms=limits[1])
    return (OPERATORS | BROKERS)[who](given), known


def is_allowed(who, before_ms, after_ms, time_ms):
    if who in BROKERS:
        hole = time_ms == WRAPS_MS and before_ms is not None
        return not (hole or is_out_of_range_in_java(time_ms, before_ms, after_ms, NOW_MS))
    is_late_enough = before_ms is None or NOW_MS - before_ms <= time_ms
    return time_ms == -1 or (is_late_enough and (after_ms is None or time_ms <= NOW_MS + after_ms))


def forwards(session, times_ms, number):
    """True if the batch was forwarded. The broker accepts it."""
    asked = produce({"t": {0: batch(times_ms)}}, correlation_id=number)
    if not any(isinstance(each, SendToBroker) for each in session.client_bytes(asked, NOW_MS)):
        return False
    session.broker_bytes(produced({"t": {0: accepted()}}, correlation_id=number), NOW_MS)
    return True


@pytest.mark.parametrize("uses_fast_path", [False, True])
@pytest.mark.parametrize(("who", "before_ms", "after_ms"), CASES)
def test_a_time_is_accepted_if_it_is_within_the_limits_of_whoever_set_them(
    who, before_ms, after_ms, uses_fast_path
):
    policy, known = world(who, before_ms, after_ms)
    session = Session(PEER, view_of(limits=known, policy=policy), uses_fast_path=uses_fast_path)
    assert forwards(session, [NOW_MS], 1)
    assert not uses_fast_path or session.fast_path.requests.table is not None
    taken = {
        time_ms
        for number, time_ms in enumerate(sorted(ODD), start=2)
        if forwards(session, [NOW_MS, time_ms], number)
    }
    assert taken == {time_ms for time_ms in ODD if is_allowed(who, before_ms, after_ms, time_ms)}


@pytest.mark.parametrize(("who", "before_ms", "after_ms"), CASES)
def test_a_batch_may_stay_unread_only_if_the_broker_rejects_whatever_the_proxy_would(
    who, before_ms, after_ms
):
    policy, known = world(who, before_ms, after_ms)
    if resolve(policy, PEER, "t", known, None, NOW_MS).inspect_compressed is Inspect.AUTO:
        at_broker = known.before_max_ms, known.after_max_ms, NOW_MS
        stored = {each for each in ODD if not is_out_of_range_in_java(each, *at_broker)}
        more = {each for each in stored if not is_allowed(who, before_ms, after_ms, each)}
        assert more == ({WRAPS_MS} if who == "topic" and before_ms is not None else set())


def test_a_time_that_slips_through_a_broker_is_found_behind_compression_if_the_file_has_the_limit():
    """The topic's own limit is the same: the broker alone would store the batch."""
    producer = Producer(view_by("own", before=TimeLimit(LIMITS.before_max_ms)))
    for _ in range(2 * TRUSTED_AFTER):
        assert producer.sends()
    assert not producer.sends(times=(NOW_MS, WRAPS_MS))
