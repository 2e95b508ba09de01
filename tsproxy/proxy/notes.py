"""Log lines at a rate that an operator can read.

A client in a loop could cause a log line for each of its connections. So each client address (each /64 of
IPv6 addresses) has a small budget. Lines beyond the budget are only counted, and the address's next line has
the count. A problem that lasts has a line when it begins and when it ends (`Trouble`). Errors on the event
loop that no other code has caught are never fatal, and have a line a second at most (`Complaints`).
"""

import asyncio
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from tsproxy.clock import Clock
from tsproxy.decisions.text import bounded
from tsproxy.log_events.catalogue import LOOP_COMPLAINED, Level, LogEvent
from tsproxy.model.addresses import counted_as
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.model.token_bucket import Bucket, Rate

PER_ADDRESS: Final = Rate(burst=10, refill_ms=10_000)
BUDGETS: Final = Ceiling(
    "how many lines about an address may be logged",
    most=10_000,
    most_bytes=4 << 20,
    when_full="the address that was quiet for longest is forgotten",
    entry_bytes=A_PLACE + 160,
)
MAX_CHARS: Final = 1_000
"""The most characters of one fact."""


class Log(Protocol):
    """The part of a structlog logger that is used here."""

    def warning(self, event: str, **facts: object) -> object: ...

    def error(self, event: str, **facts: object) -> object: ...


class Notes:
    """A log with a budget for each client address."""

    __slots__ = ("_budgets", "_clock", "_log")

    def __init__(self, log: Log, clock: Clock) -> None:
        self._budgets = Bounded[str, Bucket](BUDGETS)
        self._clock = clock
        self._log = log

    def write(self, client_address: str, event: LogEvent, facts: Mapping[str, object]) -> None:
        """Log one line about a client, unless its address has used up its budget.

        `facts` hold no keys, values or tokens.
        """
        budget = self._budget(client_address)
        if not budget.has_one:
            budget.suppressed += 1
            return
        budget.spend()
        suppressed, budget.suppressed = budget.suppressed, 0
        shown = {name: _bounded(value) for name, value in facts.items()}
        write = self._log.error if event.level is Level.ERROR else self._log.warning
        write(event.name, **shown, **({"suppressed": suppressed} if suppressed else {}))

    def _budget(self, client_address: str) -> Bucket:
        now_ms = self._clock.monotonic_ms()
        name = counted_as(client_address)
        budget = self._budgets.get(name) or Bucket.full(PER_ADDRESS, now_ms)
        budget.earn(now_ms)
        self._budgets.put(name, budget)
        return budget


def _bounded(value: object) -> object:
    """The fact with bounded text, since a text from a client may have any length and any characters."""
    return bounded(value, MAX_CHARS) if isinstance(value, str) else value


def frames_of(error: BaseException) -> list[str]:
    """The place of an error, without its text and without any value: `file:line function`."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]


class Trouble:
    """One operation. `text` is its current problem; None if there is none. `is_up` is True if the last
    attempt succeeded.

    With `logs_changes`, a new text gets a line of its own while the problem lasts.
    """

    __slots__ = ("_failed", "_logs_changes", "_resumed", "is_up", "text")

    def __init__(self, failed: LogEvent, resumed: LogEvent | None, *, logs_changes: bool = False) -> None:
        self._failed = failed
        self._logs_changes = logs_changes
        self._resumed = resumed
        self.is_up = False
        self.text: str | None = None

    def failed(self, error: Exception | str, **facts: object) -> None:
        text = str(error) or type(error).__name__
        if self.text is None or (self._logs_changes and text != self.text):
            self._failed(error=text, **facts)
        self.is_up, self.text = False, text

    def over(self, **facts: object) -> None:
        if self.text is not None and self._resumed is not None:
            self._resumed(**facts)
        self.is_up, self.text = True, None


LOG_INTERVAL_S: Final = 1.0
"""At most one line in this time. Somebody may be able to cause such an error as often as they like."""


class Complaints:
    """The handler for `loop.set_exception_handler`, and `unraisable` for `sys.unraisablehook`."""

    def __init__(self) -> None:
        self._next_s = 0.0
        self._not_logged = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not is_late(context):
            self._log(loop.time(), context.get("message", ""), context.get("exception"))

    def unraisable(self, args: "sys.UnraisableHookArgs") -> None:
        """Log an error that Python cannot raise, such as one before a callback of OpenSSL. A stranger causes
        it by a host name that is no ASCII. Python would print it, with the stranger's bytes."""
        self._log(time.monotonic(), "an error that could not be raised", args.exc_value)

    def _log(self, now_s: float, text: str, error: BaseException | None) -> None:
        if now_s < self._next_s:
            self._not_logged += 1
            return
        facts: dict[str, Any] = {"error": type(error).__name__, "frames": frames_of(error)} if error else {}
        if self._not_logged:
            facts["not_logged"] = self._not_logged
        self._next_s, self._not_logged = now_s + LOG_INTERVAL_S, 0
        LOOP_COMPLAINED(text=text, **facts)


@contextmanager
def complaints_logged(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Log what no other code has caught, in the loop and outside of it."""
    before = sys.unraisablehook
    loop.set_exception_handler(Complaints())
    sys.unraisablehook = Complaints().unraisable  # a stranger's must not take the line of our own errors
    try:
        yield
    finally:
        sys.unraisablehook = before


def is_late(context: dict[str, Any]) -> bool:
    """True for a name look-up or a connection that failed when nobody waited for it any more. The attempt
    that began it has logged its own end."""
    future = context.get("future")
    is_of_library = isinstance(future, asyncio.Future) and not isinstance(future, asyncio.Task)
    return is_of_library and isinstance(context.get("exception"), OSError)
