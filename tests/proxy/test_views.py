"""A new view is no work for connections on which nothing happens, and holds for the next byte of each."""

import time
from dataclasses import replace

import pytest

from tests.attacks.steps import bytecodes
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import config_of, facts_of, front_of
from tests.proxy.wire import PEER, wire
from tests.proxy.world import World, until
from tests.session.conversation import DAY_MS, HOUR_MS, view_of
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.model.addresses import Address
from tsproxy.model.verdict import TopicLimits
from tsproxy.proxy.connections.relay import Relay
from tsproxy.proxy.connections.views import MAX_TAKEN, Views

VIEW = view_of()
STRICT = view_of(limits=TopicLimits(before_max_ms=HOUR_MS, after_max_ms=0))


def relays(views, count):
    surroundings = World().surroundings
    return [Relay(PEER, views, surroundings, lambda _: None) for _ in range(count)]


async def test_a_new_topic_costs_the_same_however_many_connections_are_idle():
    """Finding 12: 11 us for each, at once."""
    counts, broker = [], Address("127.0.0.1", 1)
    for count in (20, 1_000):
        async with front_of(config_of([broker]), World()) as listener:
            listener.apply_facts(facts_of({1: broker}))
            made = relays(listener._views, count)
            topics = {"new": TopicLimits()}
            _, steps = bytecodes(listener.apply_facts, replace(facts_of({1: broker}), topics=topics))
            counts.append(steps)
            made[0].client_bytes(b"")
            assert made[0]._session.view.topics == topics
            assert made[1]._session.view.topics != topics
    assert counts[1] < 1.1 * counts[0]


@on_both_loops
@pytest.mark.parametrize("cut", [0, 20], ids=["between requests", "within a request"])
async def test_no_request_behind_a_new_view_takes_the_fast_path_of_the_one_before(cut):
    asked = produce({"t": {0: batch([time.time_ns() // 1_000_000 - DAY_MS // 2])}})
    async with wire(view=VIEW) as the:
        await the.client_sends(asked * 3)
        await the.broker_gets(3 * len(asked))
        assert len(the.relay._session._state.slots) == 3
        await the.client_sends(asked[:cut])
        await until(lambda: the.relay.client.kept == cut)
        the.views.renew(STRICT)
        await the.client_sends(asked[cut:])
        await until(lambda: len(the.world.outcomes) == 1)
        assert the.world.outcomes[0].verdict == "rejected"
        with pytest.raises(BlockingIOError):
            the.broker.recv(1)


async def test_few_different_views_are_kept_for_idle_connections():
    """A view may have 50,000 topics. A client may name a new one, then send a byte on another connection."""
    views = Views(VIEW)
    made = relays(views, 100)
    for each in made[:50]:
        views.renew(replace(VIEW))
        each.client_bytes(b"")
    kept = {id(each._session.view) for each in made} | {
        id(each._session._state._policies.view) for each in made
    }
    assert len(kept) <= MAX_TAKEN
    assert sum(each._session.view is VIEW for each in made) == 50, "they were left alone"
