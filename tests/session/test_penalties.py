"""`Penalties`: what a bad batch costs an address, in bounded memory and never less than promised."""

import gc

import pytest

from tsproxy.fastpath.adaptive import READ_ALL_MS
from tsproxy.session.penalties import KEPT, MAX_TOPICS, Penalties

ADDRESS = "192.0.2.1"
NOW_MS = 1_767_225_600_000
OVER_MS = NOW_MS + READ_ALL_MS


def until_ms(penalties, address=ADDRESS, topic="t"):
    return penalties.of(address).until_ms(topic)


def test_a_penalty_stays_when_no_connection_holds_it_any_more():
    penalties = Penalties()
    held = penalties.of(ADDRESS)
    penalties.add(ADDRESS, ["t"], NOW_MS)
    del held
    gc.collect()
    assert until_ms(penalties) == OVER_MS
    assert until_ms(penalties, topic="u") == until_ms(penalties, "192.0.2.2") == 0


def test_every_connection_of_the_address_learns_it():
    penalties = Penalties()
    held = penalties.of(ADDRESS)
    penalties.add(ADDRESS, ["t"], NOW_MS)
    assert held.until_ms("t") == OVER_MS


def test_an_ipv6_host_does_not_escape_by_another_of_its_addresses():
    penalties = Penalties()
    penalties.add("2001:db8::1", ["t"], NOW_MS)
    assert until_ms(penalties, "2001:db8::2") == OVER_MS
    assert until_ms(penalties, "2001:db8:0:1::1") == 0


def test_an_address_with_bad_batches_of_very_many_topics_has_all_of_them_read():
    penalties = Penalties()
    for number in range(MAX_TOPICS + 1):
        penalties.add(ADDRESS, [f"t{number}"], NOW_MS + number)
    assert len(penalties.of(ADDRESS)) == 1
    assert until_ms(penalties, topic="another") == OVER_MS + MAX_TOPICS
    assert until_ms(penalties, "192.0.2.2") == 0


@pytest.mark.parametrize(("count", "stands_for_all"), [(MAX_TOPICS, False), (MAX_TOPICS + 1, True)])
def test_each_bad_topic_of_one_request_is_read(count, stands_for_all):
    penalties, topics = Penalties(), [f"t{number}" for number in range(count)]
    penalties.add(ADDRESS, topics, NOW_MS)
    assert {until_ms(penalties, topic=topic) for topic in topics} == {OVER_MS}
    assert until_ms(penalties, topic="another") == (OVER_MS if stands_for_all else 0)


def test_a_penalty_that_is_over_makes_room():
    penalties = Penalties()
    for number in range(10 * MAX_TOPICS):
        penalties.add(ADDRESS, [f"t{number}"], NOW_MS + number * READ_ALL_MS)
    assert len(penalties.of(ADDRESS)) == 1
    assert until_ms(penalties, topic="another") == 0


def test_of_very_many_addresses_none_gets_rid_of_its_penalty():
    penalties = Penalties()
    penalties.add(ADDRESS, ["t"], NOW_MS)
    for number in range(KEPT.most):
        penalties.add(f"host-{number}", ["t"], NOW_MS + 1)
    assert len(penalties) == KEPT.most
    assert until_ms(penalties) == OVER_MS
    assert until_ms(penalties, "somebody new") == OVER_MS


def test_addresses_whose_penalties_are_over_are_forgotten():
    penalties = Penalties()
    for number in range(100):
        penalties.add(f"host-{number}", ["t"], NOW_MS + number)
    penalties.add(ADDRESS, ["t"], OVER_MS + 99)
    assert len(penalties) == 1
    assert until_ms(penalties, "host-1") == 0


@pytest.mark.parametrize("topic", ["", "a" * 250, "\U0001f600"])
def test_a_name_that_no_topic_can_have_is_not_kept(topic):
    penalties = Penalties()
    penalties.add(ADDRESS, [topic], NOW_MS)
    assert len(penalties) == 0
