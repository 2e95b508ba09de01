"""An event loop with virtual time: `SimulatedLoop`.

Callbacks run in the order in which they were asked for, which asyncio promises. Everything else is the
seed's: when bytes arrive, and whether timers are a little early (uvloop rounds to milliseconds) or late.
Time passes only while nothing is ready.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from itertools import count
from typing import Any

from rigs.simulated.draws import Stream
from tsproxy.clock import Clock

EARLY_S = 0.0005
TOO_MANY_STEPS = 500_000


class SimulatedLoop(asyncio.AbstractEventLoop):
    """As much of a loop as the product uses. `network` makes connections."""

    def __init__(self, stream: Stream) -> None:
        self.now_s = 1_000.0
        self.network: Any = None
        self.complaints: list[dict[str, Any]] = []
        self.before_time_passes: Callable[[], bool] = lambda: False
        self.thread_begins: Callable[[Callable[[], object]], None] = lambda job: None
        self._heap: list[tuple[float, int, Callable[[], object], asyncio.TimerHandle | None]] = []
        self._ready: deque[asyncio.Handle] = deque()
        self._number = count()
        self._stream = stream
        self._tasks: list[asyncio.Task[Any]] = []
        self._steps = 0

    # Used by a world

    def run_until(self, is_over: Callable[[], bool], latest_s: float) -> bool:
        """Runs until `is_over`, or until nothing is left to do. False if it is not over at `latest_s`."""
        asyncio.events._set_running_loop(self)
        try:
            while not is_over():
                self._steps += 1
                if self._steps > TOO_MANY_STEPS or not self._step(latest_s):
                    return is_over()
        finally:
            asyncio.events._set_running_loop(None)
        return True

    def after(self, delay_s: float, callback: Callable[[], object]) -> None:
        """Something that happens in the world outside, exactly then."""
        heappush(self._heap, (self.now_s + delay_s, next(self._number), callback, None))

    def timers(self) -> list[asyncio.TimerHandle]:
        """The product's timers that are not cancelled."""
        return [timer for *_, timer in self._heap if timer is not None and not timer.cancelled()]

    def unfinished_tasks(self) -> list[asyncio.Task[Any]]:
        return [task for task in self._tasks if not task.done()]

    def _step(self, latest_s: float) -> bool:
        if self._ready:
            for _ in range(len(self._ready)):
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
            return True
        if self.before_time_passes():
            return True
        if not self._heap or self._heap[0][0] > latest_s:
            return False
        when_s, _, callback, timer = heappop(self._heap)
        if timer is None:
            self.now_s = max(self.now_s, when_s)
            callback()
        elif not timer.cancelled():
            self.now_s = max(self.now_s, when_s)
            timer._run()
        return True

    # asyncio's interface

    def time(self) -> float:
        return self.now_s

    def call_soon(self, callback, *args, context=None):
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay, callback, *args, context=None):
        return self.call_at(self.now_s + delay, callback, *args, context=context)

    def call_at(self, when, callback, *args, context=None):
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._heap, (when + self._skew_s(), next(self._number), callback, timer))
        return timer

    def _skew_s(self) -> float:
        kind = self._stream.random()
        if kind < 0.7:
            return 0.0
        if kind < 0.8:
            return -EARLY_S * self._stream.random()
        return self._stream.random() * (0.02 if kind < 0.99 else 3.0)

    def _timer_handle_cancelled(self, handle):
        pass

    def create_future(self):
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], *, name=None, context=None):
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.append(task)
        return task

    def run_in_executor(self, executor, func, *args):
        """A thread takes its time, and has its result ready at once."""
        future = self.create_future()
        self.thread_begins(func)

        def done():
            if future.done():
                return
            try:
                future.set_result(func(*args))
            except Exception as error:
                future.set_exception(error)

        self.after(self._stream.soon(), done)
        return future

    async def connect_accepted_socket(self, protocol_factory, sock, **options):
        return await self.network.accept(protocol_factory, sock, options.get("ssl"))

    async def getaddrinfo(self, host, port, **options):
        return [(0, 0, 0, "", (host, port))]

    async def create_connection(self, protocol_factory, host=None, port=None, **options):
        return await self.network.connect(protocol_factory, host, port, options.get("ssl"))

    def call_exception_handler(self, context):
        self.complaints.append(context)

    def get_debug(self):
        return False

    def is_running(self):
        return True

    def is_closed(self):
        return False


class SimulatedClock(Clock):
    """The clocks of a loop. The wall clock may be stepped by `offset_ms`."""

    __slots__ = ("_loop", "_start_ms", "offset_ms")

    def __init__(self, loop: SimulatedLoop, start_ms: int) -> None:
        self.offset_ms = 0
        self._loop = loop
        self._start_ms = start_ms

    def now_ms(self) -> int:
        return self._start_ms + int((self._loop.now_s - 1_000.0) * 1_000) + self.offset_ms

    def monotonic_us(self) -> int:
        return int(self._loop.now_s * 1_000_000)

    def monotonic_ms(self) -> int:
        return int(self._loop.now_s * 1_000)
