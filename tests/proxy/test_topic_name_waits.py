"""A connection whose request waits for the name of a topic, through what clients do meanwhile."""

from dataclasses import replace

import pytest

from tests.proxy.loops import on_both_loops
from tests.proxy.wire import wire
from tests.proxy.world import World, until
from tests.session.conversation import LIMITS, id_of, view_of
from tests.session.messages import accepted, produce, produced
from tests.wire.batches import batch
from tsproxy.clock import Clock

GOOD = batch([Clock().now_ms()])
VIEW = view_of()
NAMED = replace(
    VIEW,
    topic_names={**VIEW.topic_names, id_of("new"): "new"},
    topics={**VIEW.topics, "new": LIMITS},
)


def asked(**more):
    return produce({"new": {0: GOOD}}, version=13, **more)


@on_both_loops
async def test_it_is_sent_on_once_the_view_has_the_name():
    async with wire(World(), VIEW) as the:
        await the.client_sends(asked())
        await until(lambda: the.relay._session.is_judging)
        the.views.renew(NAMED)
        assert await the.broker_gets(len(asked())) == asked()
        await the.is_told(produced({"new": {0: accepted()}}, version=13))


@pytest.mark.parametrize("acks", [0, -1])
@on_both_loops
async def test_it_is_sent_on_for_a_client_whose_connection_broke_and_the_connection_then_ends(acks):
    """It stayed open for as long as the broker kept it: nobody saw the client's end once the name came."""
    async with wire(World(), VIEW) as the:
        await the.client_sends(asked(acks=acks))
        await until(lambda: the.relay._session.is_judging)
        the.relay.client.abort()
        await until(lambda: not the.relay.client.is_open)
        the.views.renew(replace(VIEW, produce_versions=(3, 13)))
        assert the.relay._session.is_judging, "this view has no name, either"
        the.views.renew(NAMED)
        assert await the.broker_gets(len(asked(acks=acks))) == asked(acks=acks)
        assert await the.broker_sees_end()
