"""Chooses the event loop: uvloop if it is installed, else asyncio's own."""

import asyncio
from collections.abc import Callable, Coroutine
from enum import StrEnum
from typing import Any


class LoopName(StrEnum):
    AUTO = "auto"
    ASYNCIO = "asyncio"
    UVLOOP = "uvloop"


def run(name: LoopName, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `main` to its end. Raises ImportError if uvloop is configured and not installed."""
    with asyncio.Runner(loop_factory=_factory(name)) as runner:
        runner.run(main())


def _factory(name: LoopName) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if name is LoopName.ASYNCIO:
        return None
    try:
        import uvloop  # optional, and its import takes 40 ms
    except ImportError:
        if name is LoopName.UVLOOP:
            raise
        return None
    return uvloop.new_event_loop
