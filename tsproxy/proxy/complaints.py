"""Logs the errors on the event loop that no other code has caught (`Complaints`). They are never fatal."""

import asyncio
from typing import Any, Final

import structlog

from tsproxy.proxy.notes import frames_of

log = structlog.get_logger()

EVERY_S: Final = 1.0
"""At most one line in this time. Somebody may be able to cause such an error as often as they like."""


class Complaints:
    """The handler for `loop.set_exception_handler`."""

    def __init__(self) -> None:
        self._next_s = 0.0
        self._not_logged = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        now_s = loop.time()
        if now_s < self._next_s:
            self._not_logged += 1
            return
        error = context.get("exception")
        facts: dict[str, Any] = {"error": type(error).__name__, "frames": frames_of(error)} if error else {}
        if self._not_logged:
            facts["not_logged"] = self._not_logged
        self._next_s, self._not_logged = now_s + EVERY_S, 0
        log.error("loop_complained", text=context.get("message", ""), **facts)
