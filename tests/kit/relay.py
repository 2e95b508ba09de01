"""Carries bytes from one loopback address to another, and disturbs the connections when it is told to."""

import asyncio
import random
import socket
import struct
from collections import deque
from contextlib import suppress
from functools import partial

CHUNK_BYTES = 64 * 1024
BACKLOG = 4096
"""Connections that wait to be accepted. If there is no room, the system loses them, and clients try again
after 1, 3 and 7 s. Attackers open hundreds at once."""
_RESET = struct.pack("ii", 1, 0)


class _Link:
    """One connection: both ends, and how many bytes may still pass before it is cut."""

    def __init__(self, ends):
        self.bytes_left = None
        self._ends = ends

    def reset(self):
        for end in self._ends:
            with suppress(OSError):
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            end.transport.abort()

    def close(self):
        for end in self._ends:
            end.close()


class Relays:
    """Relays from `face` to `targets`, port by port. The settings hold for all connections at once.

    With several targets they balance: each connection goes to the next one, or to another that takes it.
    """

    def __init__(self, face, targets):
        self.delay_s = 0.0
        self.bytes_per_s = None
        self._face, self._targets = face, deque(targets)
        self._flowing = asyncio.Event()
        self.heal()
        self._links = set()
        self._servers = []
        self._tasks = set()

    async def open(self, ports):
        for port in ports:
            serve = partial(self._serve, port)
            self._servers.append(await asyncio.start_server(serve, self._face, port, backlog=BACKLOG))

    async def close(self):
        for server in self._servers:
            server.close()
        for link in list(self._links):
            link.reset()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def heal(self):
        self.delay_s, self.bytes_per_s = 0.0, None
        self._flowing.set()

    def stall(self):
        """Bytes wait, and connections stay open, until `heal`."""
        self._flowing.clear()

    def cut_soon(self, chance: random.Random, share, most_bytes):
        """Resets a share of the connections, each after at most `most_bytes` more bytes."""
        for link in list(self._links):
            if chance.random() < share:
                link.bytes_left = chance.randrange(most_bytes)

    def cut_now(self):
        for link in list(self._links):
            link.reset()

    async def _serve(self, port, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            theirs, ours = await self._connected(port)
        except OSError:
            writer.transport.abort()
            return
        link = _Link((writer, ours))
        self._links.add(link)
        try:
            await asyncio.gather(self._requests(link, reader, ours), self._answers(link, theirs, writer))
        except (OSError, EOFError):
            link.reset()
        finally:
            self._links.discard(link)
            link.close()

    async def _connected(self, port):
        """Raises OSError if no target takes a connection."""
        self._targets.rotate()
        *others, last = self._targets
        for target in others:
            with suppress(OSError):
                return await asyncio.open_connection(target, port)
        return await asyncio.open_connection(last, port)

    async def _pump(self, link, reader, writer):
        while data := await reader.read(CHUNK_BYTES):
            await self._flowing.wait()
            if self.delay_s or self.bytes_per_s:
                await asyncio.sleep(self.delay_s + len(data) / (self.bytes_per_s or float("inf")))
            if link.bytes_left is not None and link.bytes_left <= len(data):
                writer.write(data[: link.bytes_left])
                link.reset()
                return
            if link.bytes_left is not None:
                link.bytes_left -= len(data)
            writer.write(data)
            await writer.drain()
        with suppress(OSError, RuntimeError):
            writer.write_eof()

    _requests = _answers = _pump
    """Each direction, until its end. An OSError or EOFError ends the other one as well."""
