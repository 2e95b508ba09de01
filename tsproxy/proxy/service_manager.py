"""What systemd is told of the proxy's life (sd_notify): a datagram for each turn, no library.

    READY=1       clients are let in; again when a reload is over
    RELOADING=1   with the time it began, for units of Type=notify-reload
    STOPPING=1    with the time that delay and drain may take, however short the unit's TimeoutStopSec is
    WATCHDOG=1    the event loop turns, and no worker hangs: three times in each WatchdogSec

Without NOTIFY_SOCKET in the environment nothing is told. A manager that cannot be reached takes nothing
down. Source: sd_notify(3), sd_watchdog_enabled(3).
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, MutableMapping
from typing import Final

from tsproxy.clock import Clock

SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG_PERIOD: Final = "WATCHDOG_USEC"
WATCHDOG_PROCESS: Final = "WATCHDOG_PID"

GRACE_MS: Final = 15_000
"""Beyond the drain: goodbyes, and the last lines of the decision log."""
_BEATS: Final = 3


class ServiceManager:
    """`address` is where to tell, empty for nobody; `watchdog_s` how long the loop may hang, or None."""

    def __init__(self, address: str, watchdog_s: float | None, clock: Clock) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._clock = clock
        self._is_ready = False
        self._is_stopping = False
        self._watchdog_s = watchdog_s

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> "ServiceManager":
        """The one that started this process. What says so is taken out: it is not for our children."""
        address = environ.pop(SOCKET, "")
        period_us, process = environ.pop(WATCHDOG_PERIOD, ""), environ.pop(WATCHDOG_PROCESS, "")
        is_ours = period_us.isdecimal() and process in ("", str(os.getpid()))
        return cls(address, int(period_us) / 1e6 if is_ours and int(period_us) > 0 else None, Clock())

    def ready(self) -> None:
        """Clients are let in."""
        self._is_ready = True
        self._tell("READY=1", "STATUS=clients are let in")

    def waiting(self) -> None:
        """It runs, but has found no broker to let clients to."""
        self._tell("STATUS=waits for the cluster to answer")

    def reloading(self) -> None:
        """To be followed by `reloaded`, however it ends. Nothing is told of it before the start is over."""
        if self._is_ready and not self._is_stopping:
            self._tell("RELOADING=1", f"MONOTONIC_USEC={self._clock.monotonic_us()}")

    def reloaded(self, status: str) -> None:
        if self._is_ready and not self._is_stopping:
            self._tell("READY=1", f"STATUS={status}")

    def stopping(self, stop_ms: int) -> None:
        """`stop_ms`: what delay and drain may take."""
        self._is_stopping = True
        time_us = (stop_ms + GRACE_MS) * 1000
        self._tell("STOPPING=1", f"EXTEND_TIMEOUT_USEC={time_us}", "STATUS=lets running requests finish")

    async def beat(self, is_alive: Callable[[], bool] = lambda: True) -> None:
        """Show that the event loop turns, for as long as it does and all that hangs on it `is_alive`.
        Returns where nobody wants to know."""
        while self._watchdog_s is not None and self._address:
            if is_alive():
                self._tell("WATCHDOG=1")
            await asyncio.sleep(self._watchdog_s / _BEATS)

    def _tell(self, *lines: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
            telling.setblocking(False)
            telling.sendto("\n".join(lines).encode(), self._address)
