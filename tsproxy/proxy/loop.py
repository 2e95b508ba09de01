"""Chooses the event loop: uvloop if it is installed, else asyncio's own, with threads that the end of the
process does not wait for.

A file system without its server keeps a thread that reads a file for as long as it likes, and Python joins
the threads of a loop before it exits. A resolver may try silent name servers for a minute, for each client
that connects, and uvloop drops no look-up that nobody waits for any more.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeVar, TypeVarTuple

from tsproxy.model.addresses import ip_or_none
from tsproxy.proxy.daemon_threads import DaemonThreads, Queued

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LOOK_UPS: Final = 8
"""How many names are looked up at a time."""
THREADS: Final = 16
"""How many calls of `asyncio.to_thread` run at a time."""


class LoopName(StrEnum):
    AUTO = "auto"
    ASYNCIO = "asyncio"
    UVLOOP = "uvloop"


def run(name: LoopName, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `main` to its end. Raises ImportError if uvloop is configured and not installed."""
    with asyncio.Runner(loop_factory=type("Loop", (_DaemonLoop, _kind(name)), {})) as runner:
        runner.run(main())


def _kind(name: LoopName) -> type[asyncio.AbstractEventLoop]:
    if name is LoopName.ASYNCIO:
        return asyncio.SelectorEventLoop
    try:
        import uvloop  # optional, and its import takes 40 ms
    except ImportError:
        if name is LoopName.UVLOOP:
            raise
        return asyncio.SelectorEventLoop
    return uvloop.Loop


class _DaemonLoop(asyncio.AbstractEventLoop):
    """A loop that does not wait for its threads, and drops a look-up when its caller has given up."""

    def __init__(self) -> None:
        super().__init__()
        self._names = DaemonThreads(LOOK_UPS, "names")
        self._threads = DaemonThreads(THREADS, "beside")

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """In a daemon thread if no executor is named. Loops accept no such threads as their default."""
        return super().run_in_executor(executor or self._threads, func, *args)

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> Any:
        look_up = partial(socket.getaddrinfo, host, port, family, type, proto, flags)
        if ip_or_none(str(host)) is not None:
            return look_up()  # uvloop's sock_connect looks up addresses, too: they wait for no name server
        return await self.run_in_executor(self._names, Queued(str(host), look_up))
