"""Makes the links of a world, and sees what the proxy has written: `Network`."""

import select

from rigs.simulated.link import Link
from rigs.simulated.loop import SimulatedLoop


class Incoming:
    """A client's connection that the proxy has accepted and not read from yet; stands for its socket."""

    def __init__(self, far) -> None:
        self.far = far

    def close(self) -> None:
        self.far.refused()


class Network:
    """Makes the links of a world. `dial` says who answers at an address of a broker, after how long."""

    def __init__(self, loop: SimulatedLoop, dial, note) -> None:
        self.links: list[Link] = []
        self.loop = loop
        self.note = note
        self._dial = dial
        self._plain: dict[int, Link] = {}
        self._poll = select.epoll()
        loop.network = self
        loop.before_time_passes = self._find_output

    def add(self, link: Link) -> None:
        self.links.append(link)
        if not link.is_tls:
            number = link.wire.outside.fileno()
            self._plain[number] = link
            self._poll.register(number, select.EPOLLIN | select.EPOLLET)

    def remove(self, link: Link) -> None:
        if not link.is_tls:
            number = link.wire.outside.fileno()
            if self._plain.pop(number, None) is not None:
                self._poll.unregister(number)

    def close(self) -> None:
        for link in self.links:
            link.release()
        self._poll.close()

    def _find_output(self) -> bool:
        """Sees what pipes have written to sockets themselves."""
        if self._plain:
            written = [self._plain[number] for number, _ in self._poll.poll(0)]
            for link in sorted(written, key=lambda link: link.number):
                link.has_output()
        return False

    async def accept(self, protocol_factory, incoming: Incoming, context) -> Link:
        """A client's connection, with its TLS handshake if there is a context."""
        far = incoming.far
        if context is not None:
            await self._handshake(far)
        link = Link(self, far.network_stream, far, protocol_factory(), context)
        return await self._made(link)

    async def connect(self, protocol_factory, host: str, port: int, context):
        """A connection to a broker. Raises what asyncio would raise."""
        far, delay_s, error = self._dial(host, port)
        await self._wait(delay_s)
        if error is not None:
            raise error
        link = Link(self, far.network_stream, far, protocol_factory(), context)
        return await self._made(link)

    async def _made(self, link: Link):
        waiter = self.loop.create_future()
        link.begin(waiter)
        link.far.connected(link)
        try:
            await waiter
        except BaseException:
            link.close()
            raise
        return link, link._protocol

    async def _handshake(self, far) -> None:
        delay_s, error = far.handshake()
        try:
            await self._wait(delay_s)
            if error is not None:
                raise error
        except BaseException:
            far.refused()
            raise

    async def _wait(self, seconds: float) -> None:
        waiter = self.loop.create_future()
        self.loop.after(seconds, lambda: waiter.done() or waiter.set_result(None))
        await waiter
