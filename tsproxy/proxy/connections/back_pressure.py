"""Back-pressure: one end of a relay is not read while an end that its bytes lead to is full.

Each end has a set of reasons for which it is not read. Reading continues when the set is empty:

* The *client* is not read while the broker is full (requests go there), while the client itself is full
  (answers that are made here go back to it), while the broker is still being connected, while the session
  requests a pause, while the client is muted, while memory is short, and in the stage FINISHING.
* The *broker* is not read while the client is full, while the session requests a pause, and while a thread
  reads one of the broker's answers.

"Full" means asyncio's `pause_writing`: the transport's buffer is above its high-water mark. So a connection
holds at most the marks of both ends, the bytes of one read, and the frame that the session is waiting for,
which has limits of its own. Below an end that is not read, a TLS layer holds another mark and another read.
"""

import asyncio
from enum import Enum, auto
from typing import Final

HIGH_WATER_BYTES: Final = 256 * 1024
"""A transport's write buffer counts as full above this. asyncio's 64 KiB would pause twice as often for large
frames, at twice the CPU."""
TLS_HIGH_WATER_BYTES: Final = 64 * 1024
"""The TLS layer of an end that is not read stops reading above this. A record, which may have 16 KiB, must
fit."""


class Hold(Enum):
    """The reason why an end is not read."""

    CONNECTING = auto()
    BROKER_FULL = auto()
    CLIENT_FULL = auto()
    SESSION_ASKED = auto()
    FINISHING = auto()
    MUTED = auto()
    READING = auto()
    MEMORY = auto()


class ReadGate:
    """Pauses reading from one transport while there is a reason to hold it."""

    __slots__ = ("_holds", "_is_paused", "_transport")

    def __init__(self, *holds: Hold) -> None:
        self._holds = set(holds)
        self._is_paused = False
        self._transport: asyncio.Transport | None = None

    def attach(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Use this transport. Call it from `connection_made`. A pause takes effect one tick later: uvloop
        begins to read after `connection_made` has returned, and so undoes a pause from inside it. The caller
        keeps the bytes that come within that tick."""
        self._transport = transport
        loop.call_soon(self._apply)

    @property
    def is_held(self) -> bool:
        return bool(self._holds)

    def is_held_for(self, reason: Hold) -> bool:
        return reason in self._holds

    def hold(self, reason: Hold) -> None:
        self._holds.add(reason)
        self._apply()

    def release(self, reason: Hold) -> None:
        self._holds.discard(reason)
        self._apply()

    def set(self, reason: Hold, is_held: bool) -> None:
        if is_held:
            self.hold(reason)
        else:
            self.release(reason)

    def release_all(self) -> None:
        """Read again, whatever the reasons were. The caller drops all bytes that come from now on."""
        self._holds.clear()
        self._apply()

    def _apply(self) -> None:
        transport, is_held = self._transport, bool(self._holds)
        if transport is None or transport.is_closing() or is_held is self._is_paused:
            return
        self._is_paused = is_held
        if is_held:
            transport.pause_reading()
        else:
            transport.resume_reading()
