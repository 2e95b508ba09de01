"""A relay that loses one answer: the broker has stored a record, and its producer is not told.

It listens on another address of this machine, on the same port, and says that address in what it carries:
so a client comes through it whichever address it is told. Everything else passes as it came, with two
exceptions. The answer to the first Produce request that holds `DELIVERED` is kept back, and its connection
ends. Requests with that record which come again end their connections, too, until a request that holds
`REFUSED` has been answered: the network is bad for just so long.

No connection ends while `REFUSED` waits for its answer. Otherwise the client would send both records again at
the same time, and neither would ever come through.
"""

import asyncio
from contextlib import AsyncExitStack

HERE = "127.0.0.1"
DELIVERED, REFUSED = b"delivered-record", b"refused-record"
_SIZE_BYTES = 4
_NOTICED_S = 1.0
"""A client needs less to notice that its connection has ended."""
_PRODUCE = b"\x00\x00"


class LostAnswer:
    """`is_lost` is set when the client knows that the connection ended without the answer, `is_refused` when
    the other record was answered.

    Its address is 127.0.0.NUMBER, so that several may stand before the same broker.
    """

    def __init__(self, number):
        self._face = f"127.0.0.{number}"
        assert len(self._face) == len(HERE)
        self._is_cut = False
        self.is_lost = asyncio.Event()
        self.is_refused = asyncio.Event()
        self.sent = []
        """The record of each Produce request that was forwarded, in order."""

    async def on(self, servers, stack: AsyncExitStack):
        """Relay to this server until the stack closes; the address for clients."""
        port = int(servers.rpartition(":")[2])
        server = await asyncio.start_server(lambda *client: self._serve(port, *client), self._face, port)
        stack.callback(server.close)
        return f"{self._face}:{port}"

    async def _serve(self, port, reader, writer):
        answers, requests = await asyncio.open_connection(HERE, port)
        waiting = []
        try:
            await _until_either_ends(
                self._carry_requests(reader, requests, waiting),
                self._carry_answers(answers, writer, waiting),
            )
        finally:
            for end in (writer, requests):
                end.transport.abort()

    async def _carry_requests(self, reader, writer, waiting):
        while True:
            frame = await _frame(reader)
            record = _record_of(frame)
            if record == DELIVERED and self._is_cut and not self.is_refused.is_set():
                if REFUSED in waiting:
                    await self.is_refused.wait()
                return
            if record is not None:
                self.sent.append(record)
            waiting.append(record)
            writer.write(frame)

    async def _carry_answers(self, reader, writer, waiting):
        while True:
            frame = await _frame(reader)
            record = waiting.pop(0)
            if record == DELIVERED and not self._is_cut:
                self._is_cut = True
                asyncio.get_running_loop().call_later(_NOTICED_S, self.is_lost.set)
                return
            if record == REFUSED:
                self.is_refused.set()
            writer.write(frame.replace(HERE.encode(), self._face.encode()))


async def _until_either_ends(*directions):
    """Run these coroutines until one of them returns or fails; then cancel the other.

    Raises any error but those of a connection that ends.
    """
    tasks = [asyncio.ensure_future(each) for each in directions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, OSError | asyncio.IncompleteReadError):
            raise error


async def _frame(reader):
    size = await reader.readexactly(_SIZE_BYTES)
    return size + await reader.readexactly(int.from_bytes(size, "big"))


def _record_of(frame):
    """DELIVERED or REFUSED, if this is a Produce request that holds it."""
    if not frame.startswith(_PRODUCE, _SIZE_BYTES):
        return None
    return next((record for record in (DELIVERED, REFUSED) if record in frame), None)
