"""Logs the errors on the event loop that no other code has caught (`Complaints`). They are never fatal."""

import asyncio
from typing import Any, Final

from tsproxy.log_events.catalogue import LOOP_COMPLAINED
from tsproxy.proxy.notes import frames_of

LOG_INTERVAL_S: Final = 1.0
"""At most one line in this time. Somebody may be able to cause such an error as often as they like."""


class Complaints:
    """The handler for `loop.set_exception_handler`."""

    def __init__(self) -> None:
        self._next_s = 0.0
        self._not_logged = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if is_late(context):
            return
        now_s = loop.time()
        if now_s < self._next_s:
            self._not_logged += 1
            return
        error = context.get("exception")
        facts: dict[str, Any] = {"error": type(error).__name__, "frames": frames_of(error)} if error else {}
        if self._not_logged:
            facts["not_logged"] = self._not_logged
        self._next_s, self._not_logged = now_s + LOG_INTERVAL_S, 0
        LOOP_COMPLAINED(text=context.get("message", ""), **facts)


def is_late(context: dict[str, Any]) -> bool:
    """True for a name look-up or a connection that failed when nobody waited for it any more. The attempt
    that began it has logged its own end."""
    future = context.get("future")
    is_of_library = isinstance(future, asyncio.Future) and not isinstance(future, asyncio.Task)
    return is_of_library and isinstance(context.get("exception"), OSError)
