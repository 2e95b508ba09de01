"""An event loop without sockets: time passes only if nothing is ready. Its ends keep what is sent to them."""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from tests.session.conversation import NOW_MS
from tsproxy.clock import Clock

MOST_WAIT_S = 3_600.0
"""Nothing that matters here takes longer."""


class Loop(asyncio.AbstractEventLoop):
    """As much of a loop as a proxy's connections use."""

    def __init__(self) -> None:
        self.began_s = self.now_s = 1_000.0
        self.brokers: list[End] = []
        """The proxy's ends of the connections to brokers."""
        self.jobs: deque[tuple[asyncio.Future, Callable[[], object]]] = deque()
        """The work for threads."""
        self.ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._number = count()

    def turn(self) -> None:
        """Runs what is ready now, as one turn of a loop does."""
        for _ in range(len(self.ready)):
            handle = self.ready.popleft()
            if not handle.cancelled():
                handle._run()

    def wait(self) -> bool:
        """Lets time pass until the next timer is due. False if there is none within an hour."""
        while self._timers:
            when_s, _, timer = heappop(self._timers)
            if not timer.cancelled():
                if when_s > self.began_s + MOST_WAIT_S:
                    return False
                self.now_s = max(self.now_s, when_s)
                self.ready.append(timer)
                return True
        return False

    def time(self) -> float:
        return self.now_s

    def get_debug(self) -> bool:
        return False

    def call_soon(self, callback, *args, context=None):
        handle = asyncio.Handle(callback, args, self, context)
        self.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay, callback, *args, context=None):
        return self.call_at(self.now_s + delay, callback, *args, context=context)

    def call_at(self, when, callback, *args, context=None):
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._number), timer))
        return timer

    def _timer_handle_cancelled(self, handle):
        pass

    def create_future(self):
        return asyncio.Future(loop=self)

    def create_task(self, coro, *, name=None, context=None):
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def run_in_executor(self, executor, func, *args):
        future = self.create_future()
        self.jobs.append((future, lambda: func(*args)))
        return future

    def call_exception_handler(self, context):
        raise context.get("exception") or RuntimeError(str(context))

    # -- Connections

    async def sock_recv(self, connection, size):
        """The next bytes that the peer has said; none at the end."""
        while not connection.said and not connection.has_ended:
            connection.waits = self.create_future()
            await connection.waits
        made = bytes(connection.said[:size])
        del connection.said[:size]
        return made

    def add_reader(self, connection, callback, *args):
        connection.reader = lambda: callback(*args)
        connection.wake()

    def remove_reader(self, connection):
        connection.reader = None

    async def connect_accepted_socket(self, factory, sock, *, ssl=None, ssl_handshake_timeout=None):
        """With `ssl` the handshake is the real one. The bytes after it are not encrypted."""
        tls = None
        if ssl is not None:
            async with asyncio.timeout(ssl_handshake_timeout):
                tls = await self._shake_hands(sock, ssl)
        protocol = factory()
        sock.end = End(self, protocol, tls)
        protocol.connection_made(sock.end)
        return sock.end, protocol

    async def _shake_hands(self, connection, context):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        handshake = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                handshake.do_handshake()
                return handshake
            except ssl.SSLWantReadError:
                connection.heard += outgoing.read()
                data = await self.sock_recv(connection, 1 << 18)
                if not data:
                    raise ConnectionResetError from None
                incoming.write(data)
            finally:
                connection.heard += outgoing.read()

    async def getaddrinfo(self, host, port, **_):
        """Each name has one address."""
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("192.0.2.9", port))]

    async def create_connection(self, factory, host, port, **_):
        """A broker accepts each connection at once."""
        protocol = factory()
        end = End(self, protocol)
        self.brokers.append(end)
        protocol.connection_made(end)
        return end, protocol


class Time(Clock):
    __slots__ = ("_loop",)

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        return NOW_MS + int((self._loop.now_s - self._loop.began_s) * 1_000)

    def monotonic_us(self) -> int:
        return int(self._loop.now_s * 1e6)

    def monotonic_ms(self) -> int:
        return int(self._loop.now_s * 1_000)


class Accepted:
    """An accepted connection before it has a transport: a socket. `heard` is what the proxy has said in a TLS
    handshake."""

    def __init__(self, loop: Loop) -> None:
        self.end: End | None = None
        self.has_closed = False
        self.has_ended = False
        self.heard = b""
        self.loop = loop
        self.reader: Callable[[], object] | None = None
        """It is called when there is something to read."""
        self.said = bytearray()
        self.waits: asyncio.Future | None = None

    def say(self, data: bytes) -> None:
        self.said += data
        self.wake()

    def recv(self, size: int, flags: int) -> bytes:
        """A look at the next bytes, which stay."""
        return bytes(self.said[:size])

    def leave(self) -> None:
        self.has_ended = True
        self.wake()

    def close(self) -> None:
        self.has_closed = True

    @property
    def is_over(self) -> bool:
        return self.has_closed if self.end is None else self.end.has_closed

    def wake(self) -> None:
        if self.reader is not None and (self.said or self.has_ended):
            self.loop.call_soon(self.reader)
        if self.waits is not None and not self.waits.done():
            self.waits.set_result(None)


class End:
    """A transport that keeps what is sent. It has no descriptor, so that the pipe does not write to one."""

    def __init__(self, loop: Loop, protocol: asyncio.BaseProtocol, tls: ssl.SSLObject | None = None) -> None:
        self.has_closed = False
        self.is_reading = True
        self.protocol = protocol
        self.sent: list[bytes] = []
        self._loop = loop
        self._extra = {"socket": _Socket(), "ssl_object": tls, "peername": ("192.0.2.9", 9_092)}

    def get_extra_info(self, name, default=None):
        return self._extra.get(name, default)

    def write(self, data) -> None:
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return self.has_closed

    def close(self) -> None:
        if not self.has_closed:
            self.has_closed = True
            self._loop.call_soon(self.protocol.connection_lost, None)

    abort = close

    def leave(self) -> None:
        """The peer sends no more, and closes."""
        if not self.has_closed:
            self.protocol.eof_received()
            self.close()

    def set_protocol(self, protocol) -> None:
        self.protocol = protocol

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high=None, low=None) -> None:
        pass

    def can_write_eof(self) -> bool:
        return False


class _Socket:
    def fileno(self) -> int:
        return -1

    def setsockopt(self, *_: object) -> None:
        pass
