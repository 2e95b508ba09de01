"""A large answer that must be read is read beside the loop: everybody else is served meanwhile."""

import threading
from concurrent.futures import ThreadPoolExecutor

from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.wire import is_reading, wire
from tests.proxy.world import PATIENCE_S, World, until
from tests.session.conversation import view_of
from tests.session.test_answers_beside import ASKED, coordinators
from tsproxy.model.addresses import counted_as

TOLD = coordinators(host=b"broker")
SAID = TOLD.replace(b"\x07broker\x00\x00\x23\x84", b"\x0eproxy.example\x00\x00\x23\xe9")
SAID = (len(SAID) - 4).to_bytes(4, "big") + SAID[4:]


class Gated(ThreadPoolExecutor):
    """One thread, whose jobs wait until they may."""

    def __init__(self):
        super().__init__(1)
        self.may_go = threading.Event()
        self.begun = threading.Event()
        self.lines = []

    def submit(self, job, /, *arguments, **named):
        self.lines.append(job.queue)

        def when_it_may():
            self.begun.set()
            assert self.may_go.wait(PATIENCE_S)
            return job(*arguments, **named)

        return super().submit(when_it_may)


def connection(world):
    return wire(world, view_of(), gate=world.decoders)


async def being_read(the):
    """A connection that has its large answer, and reads it."""
    await the.asks(ASKED)
    await the.broker_sends(TOLD)
    await until(the.world.decoders.begun.is_set)


@on_both_loops
async def test_an_answer_waits_in_the_line_of_its_clients_address():
    world = World(decoders=Gated())
    async with connection(world) as the:
        await being_read(the)
        assert world.decoders.lines == [counted_as(the.relay.peer.client_address)]


@on_both_loops
async def test_another_client_is_answered_while_a_large_answer_is_read():
    world = World(decoders=Gated())
    async with connection(world) as one, connection(world) as another:
        await being_read(one)
        assert not is_reading(one.relay.broker)
        await another.asks(request(5))
        await another.is_told(answer(5))

        world.decoders.may_go.set()
        assert await one.client_gets(len(SAID)) == SAID
        await until(lambda: is_reading(one.relay.broker))


@on_both_loops
async def test_a_client_that_goes_while_its_answer_is_read_takes_everything_with_it():
    world = World(decoders=Gated())
    async with connection(world) as the:
        await being_read(the)
        the.relay.client.abort()
        assert await the.broker_sees_end()
        the.broker.close()  # at once, as a real broker does: the proxy would wait 30 s for it
        await until(the.ended.is_set)
