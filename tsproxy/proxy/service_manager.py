"""Reports the proxy's state to systemd (sd_notify): one datagram for each message, without a library.

    READY=1       clients are accepted; sent again when a reload has ended
    RELOADING=1   with the time when the reload began, for units of Type=notify-reload
    STOPPING=1    with the time that delay and drain may take, however short the unit's TimeoutStopSec is
    WATCHDOG=1    the event loop runs, and no worker hangs: three times in each WatchdogSec

Without NOTIFY_SOCKET in the environment it sends nothing. A failing manager does not affect the
proxy. Source: sd_notify(3), sd_watchdog_enabled(3).
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
"""The time in addition to the drain: closing connections, and the last lines of the decision log."""
_BEATS: Final = 3


class ServiceManager:
    """Sends the messages. `address` is the socket, empty for none. `watchdog_s` is how long the loop may
    hang, or None."""

    def __init__(self, address: str, watchdog_s: float | None, clock: Clock) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._clock = clock
        self._is_ready = False
        self._is_stopping = False
        self._watchdog_s = watchdog_s

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> "ServiceManager":
        """The manager that started this process, from its variables. They are removed from `environ`, since
        child processes must not use them."""
        address = environ.pop(SOCKET, "")
        period_us, process = environ.pop(WATCHDOG_PERIOD, ""), environ.pop(WATCHDOG_PROCESS, "")
        is_ours = period_us.isdecimal() and process in ("", str(os.getpid()))
        return cls(address, int(period_us) / 1e6 if is_ours and int(period_us) > 0 else None, Clock())

    def ready(self) -> None:
        """Clients are accepted."""
        self._is_ready = True
        self._tell("READY=1", "STATUS=clients are accepted")

    def waiting(self) -> None:
        """The proxy runs, but has found no broker yet, so it accepts no clients."""
        self._tell("STATUS=waits for the cluster to answer")

    def reloading(self) -> None:
        """A reload begins. Call `reloaded` afterwards, however the reload ends. Before the start is over,
        nothing is sent."""
        if self._is_ready and not self._is_stopping:
            self._tell("RELOADING=1", f"MONOTONIC_USEC={self._clock.monotonic_us()}")

    def reloaded(self, status: str) -> None:
        if self._is_ready and not self._is_stopping:
            self._tell("READY=1", f"STATUS={status}")

    def stopping(self, stop_ms: int) -> None:
        """The proxy stops. `stop_ms`: how long delay and drain may take."""
        self._is_stopping = True
        time_us = (stop_ms + GRACE_MS) * 1000
        self._tell("STOPPING=1", f"EXTEND_TIMEOUT_USEC={time_us}", "STATUS=draining")

    async def beat(self, is_alive: Callable[[], bool] = lambda: True) -> None:
        """Report that the event loop runs, as long as it does and `is_alive` is true. Returns if there is no
        watchdog."""
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
