"""The demo's data and plan: what makes its outcome depend on the data alone."""

from collections import Counter
from functools import cache

import pytest

from deploy.demo import plan
from deploy.demo.data import Event, read_events
from deploy.demo.plan import Share, shares

QUEUED_MS = 600_000
"""Longer than any record waits between its stamp and a verdict."""


@cache
def all_events() -> list[Event]:
    """Read when a test asks for them, since every process of a run imports this module."""
    return read_events()


@cache
def all_shares() -> list[Share]:
    return shares(all_events())


def share_of(client_id: str) -> Share:
    return next(share for share in all_shares() if share.producer.client_id == client_id)


def test_the_events_are_those_that_the_provenance_describes():
    late_days = [event.lateness_ms / plan.DAY_MS for event in all_events()]
    assert len(all_events()) == 103_140
    assert sum(days < 0 for days in late_days) == 109
    assert min(late_days) > -15 / 24 / 60
    assert sum(days > 0 for days in late_days) == 32_903
    assert sum(days > 7 for days in late_days) == 11_675
    assert 5 * 365 < max(late_days) < 6 * 365


def test_every_nth_event_is_a_sample_of_the_whole_history():
    assert read_events(every=20) == all_events()[::20]


@pytest.mark.parametrize("topic", plan.EVENT_TOPICS, ids=lambda topic: topic.name)
def test_which_events_are_too_late_does_not_depend_on_how_long_they_wait(topic: plan.Topic):
    """A record ages on its way: none may cross a limit by that."""
    for event in all_events():
        rejected = {
            topic.rejects(plan.SOME_DAY_MS - event.lateness_ms, plan.SOME_DAY_MS + waited_ms)
            for waited_ms in (0, QUEUED_MS)
        }
        assert len(rejected) == 1, event


def test_every_event_is_sent_once():
    rows = Counter(message.value.decode() for share in all_shares()[:3] for message in share.messages)
    assert rows == Counter(event.row for event in all_events())


def test_each_client_sends_a_third_of_the_events_and_a_ninth_to_each_topic():
    places = Counter(
        (share.producer.client_id, message.topic.name)
        for share in all_shares()[:3]
        for message in share.messages
    )
    assert len(places) == 9
    assert set(places.values()) == {len(all_events()) // 9}


def test_every_record_has_a_key_of_its_own():
    keys = [share.key(message) for share in all_shares() for message in share.messages]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("client_id", "written", "is_culprit"),
    [
        ("synthetic-seconds", 1_780_000_000, True),
        ("synthetic-microseconds", 1_780_000_000_000_000, True),
        ("synthetic-nanoseconds", 1_780_000_000_000_000_001, True),
        ("synthetic-missing", -1, False),
        ("synthetic-negative", -1_780_000_000_000, True),
    ],
)
def test_a_synthetic_producer_makes_the_mistake_that_its_name_says(client_id, written, is_culprit):
    """KIP-32: -1 means that there is no timestamp, and is exempt; all else is a time, however odd."""
    share = share_of(client_id)
    message = share.messages[0]
    assert share.timestamp_ms(message, 1_780_000_000_000) == written
    assert share.is_culprit(message) is is_culprit
