"""Back-pressure: one end of a relay is not read while anything that its bytes lead to is full.

The rule is one sentence, the reasons are a set, and reading goes on when the set is empty:

* the *client* is not read while the broker takes no more (its requests go there), while the client
  itself takes no more (answers made here go back to it without passing the broker), while the
  broker is still being connected, while the session asks for it, and while it is being drained;
* the *broker* is not read while the client takes no more, and while an answer of its own is being
  read beside the loop.

"Takes no more" is asyncio's `pause_writing`: the transport's buffer is above its high-water mark.
So a connection holds at most the marks of both ends plus what one read brings, and the frame that
the session is waiting for, which has limits of its own.
"""

import asyncio
from enum import Enum, auto
from typing import Final

HIGH_WATER_BYTES: Final = 256 * 1024
"""A transport's write buffer counts as full above this. asyncio's 64 KiB would pause twice as often for large
frames, at twice the CPU."""


class Hold(Enum):
    """Why an end is not read."""

    CONNECTING = auto()
    BROKER_FULL = auto()
    CLIENT_FULL = auto()
    SESSION_ASKED = auto()
    FINISHING = auto()
    MUTED = auto()
    READING = auto()


class ReadGate:
    """Reading from one transport, stopped while somebody holds it."""

    __slots__ = ("_holds", "_is_paused", "_transport")

    def __init__(self, *holds: Hold) -> None:
        self._holds = set(holds)
        self._is_paused = False
        self._transport: asyncio.Transport | None = None

    def attach(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """To be called from `connection_made`. Takes effect one tick later: uvloop begins to read
        after `connection_made` has returned, and so undoes a pause made inside it. The caller
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
        """Read again, whatever the reasons were: the caller drops what comes from now on."""
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
