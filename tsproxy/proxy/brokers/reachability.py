"""Whether a broker can be reached, and whether the proxy's own login works: `Reachability`.

A proxy serves its clients as long as a broker answers. Its own user may meanwhile have a password that was
changed, or a token endpoint that is away. That must not take it out of service: all proxies share this user.
"""

import asyncio
from typing import Final

from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import ConversationError, connected
from tsproxy.decisions.text import bounded
from tsproxy.log_events.catalogue import (
    OWN_LOGIN_FAILED,
    OWN_LOGIN_WORKS,
    UPSTREAM_REACHED,
    UPSTREAM_UNREACHABLE,
    LogEvent,
)
from tsproxy.model.addresses import Address
from tsproxy.tls.contexts import CurrentTls

AGAIN_MS: Final = 5 * 60_000
ANSWER_S: Final = 2.0
"""How long a broker may take to answer without a login."""
MAX_SHOWN: Final = 300
"""The most characters of an error text in a sentence."""
_CORRECT_IT: Final = "if the login failed: correct upstream.admin.sasl, or its user's password and rights"


async def answers(address: Address, tls: CurrentTls | None) -> bool:
    """True if a broker answers at this address. It answers ApiVersions without a login (KIP-43)."""
    try:
        async with asyncio.timeout(ANSWER_S), connected(address, tls() if tls else None, None) as connection:
            return connection.serves_clients
    except (ConversationError, TimeoutError):
        return False


class Outage:
    """A problem that lasts. `text` says why; it is None if there is none."""

    __slots__ = ("_begun", "_clock", "_logged_ms", "_over", "_since_ms", "text")

    def __init__(self, clock: Clock, begun: LogEvent, over: LogEvent) -> None:
        self._begun = begun
        self._clock = clock
        self._logged_ms = self._since_ms = 0
        self._over = over
        self.text: str | None = None

    def failed(self, text: str, advice: str) -> None:
        """Log one line when the problem begins, one when its text changes, and one now and then while it
        lasts."""
        now_ms = self._clock.monotonic_ms()
        if self.text is None:
            self._since_ms = now_ms
        elif text == self.text and now_ms - self._logged_ms < AGAIN_MS:
            return
        self.text, self._logged_ms = text, now_ms
        self._begun(error=text, for_s=(now_ms - self._since_ms) // 1000, advice=advice)

    def over(self, *, is_asked: bool = False) -> None:
        """Log one line if there was a problem, or if somebody wants to know that there is none."""
        if self.text is not None or is_asked:
            self.text = None
            self._over()


class Reachability:
    """Two outages: no broker can be reached, or brokers answer while the proxy's own connection fails."""

    __slots__ = ("_network", "_own_login")

    def __init__(self, clock: Clock) -> None:
        self._network = Outage(clock, UPSTREAM_UNREACHABLE, UPSTREAM_REACHED)
        self._own_login = Outage(clock, OWN_LOGIN_FAILED, OWN_LOGIN_WORKS)

    @property
    def is_up(self) -> bool:
        """False if no broker could be reached the last time."""
        return self._network.text is None

    @property
    def is_logged_in(self) -> bool:
        """False if the proxy's own connection failed the last time, although a broker answered."""
        return self._own_login.text is None

    def works(self, *, is_asked: bool = False) -> None:
        self._network.over()
        self._own_login.over(is_asked=is_asked)

    def login_failed(self, text: str, advice: str) -> None:
        self._network.over()
        self._own_login.failed(text, f"{_CORRECT_IT}; {advice}")

    def unreachable(self, text: str, advice: str) -> None:
        self._network.failed(text, advice)

    def why(self) -> str:
        """The current problem, to follow a sentence; empty if there is none."""
        text = self._network.text or self._own_login.text
        return f": {bounded(text, MAX_SHOWN)}" if text else ""

    def warnings(self) -> list[str]:
        """A sentence if the proxy's own connection fails while clients are served."""
        if self.is_logged_in or not self.is_up:
            return []
        return [
            f"the proxy's own connection fails, although brokers answer clients{self.why()}. It reads no "
            f"limits and no new brokers: {_CORRECT_IT}"
        ]
