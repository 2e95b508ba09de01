"""Chooses the event loop: uvloop if it is installed, else asyncio's own, with threads that look up names.

A resolver may try silent name servers for a minute, for each client that connects. uvloop's own threads for
names drop no look-up that nobody waits for any more, and at its end uvloop waits for all of them. asyncio's
loop looks up names in the threads that also write the last lines of the decision log.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from enum import StrEnum
from functools import partial
from typing import Any, Final

from tsproxy.proxy.daemon_threads import DaemonThreads, Queued

LOOK_UPS: Final = 8
"""How many names are looked up at a time."""


class LoopName(StrEnum):
    AUTO = "auto"
    ASYNCIO = "asyncio"
    UVLOOP = "uvloop"


def run(name: LoopName, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `main` to its end. Raises ImportError if uvloop is configured and not installed."""
    with asyncio.Runner(loop_factory=type("Loop", (_LooksUpBeside, _kind(name)), {})) as runner:
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


class _LooksUpBeside(asyncio.AbstractEventLoop):
    """A loop that drops a look-up when its caller has given up, and does not wait for one at its end."""

    def __init__(self) -> None:
        super().__init__()
        self._names = DaemonThreads(LOOK_UPS, "names")

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
        return await self.run_in_executor(self._names, Queued(str(host), look_up))
