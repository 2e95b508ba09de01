"""Log lines about clients, at a rate that an operator can read.

A client in a loop could cause a log line for each of its connections. So each client address (each /64 of
IPv6 addresses) has a small budget. Lines beyond the budget are only counted, and the address's next line has
the count.
"""

import traceback
from collections.abc import Mapping
from typing import Final, Protocol

from tsproxy.clock import Clock
from tsproxy.decisions.text import bounded
from tsproxy.log_events.catalogue import Level, LogEvent
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
