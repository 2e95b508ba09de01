"""One end of a relay: a transport, the gate before its reading, and an orderly goodbye."""

import asyncio
import socket
from typing import Final, Protocol, cast

from tsproxy.clock import Clock
from tsproxy.proxy.connections.back_pressure import HIGH_WATER_BYTES, Hold, ReadGate
from tsproxy.proxy.pipe import Buffers, Pipe, Tally

LINGER_S: Final = 30.0
"""How long a closed end may take to read what was sent to it before it is cut off."""


class Owner(Protocol):
    """What a leg tells whoever owns it."""

    def bytes_came(self, leg: "Leg", data: bytes) -> None:
        """Those that the pipe did not pass on by itself."""

    def kept_more(self) -> None:
        """The pipe keeps more of a request that is not whole."""

    def throttled(self, throttle_ms: int) -> None:
        """The pipe rejected something, for which the client is not to be read for so long."""

    def crashed(self, error: Exception) -> None:
        """A mistake of ours, in the pipe."""

    def end_came(self, leg: "Leg") -> bool:
        """The other end sends no more. True keeps this end open for writing."""

    def lost(self, leg: "Leg") -> None: ...

    def is_full(self, leg: "Leg", full: bool) -> None: ...


class Leg(Pipe, asyncio.BufferedProtocol):
    """The bytes are the pipe's; everything else about a connection's end is here."""

    __slots__ = ("_abort", "_owner", "end_was_seen", "gate", "is_open", "was_lost")

    def __init__(self, owner: Owner, buffers: Buffers, tally: Tally, clock: Clock, *holds: Hold) -> None:
        super().__init__(buffers, tally, clock)
        self.gate = ReadGate(*holds)
        self.is_open = False
        self.was_lost = False
        self.end_was_seen = False
        self._owner = owner
        self._abort: asyncio.TimerHandle | None = None

    # asyncio's half

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.attach(cast("asyncio.Transport", transport))
        assert self.transport is not None
        self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        # As Kafka's own sockets: a peer that vanished without a word is found out in the end.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.is_open = True
        self.gate.attach(self.transport, asyncio.get_running_loop())

    def came(self, data: bytes) -> None:
        self._owner.bytes_came(self, data)

    def kept_more(self) -> None:
        self._owner.kept_more()

    def throttled(self, silent_ms: int) -> None:
        self._owner.throttled(silent_ms)

    def failed(self, error: Exception) -> None:
        self._owner.crashed(error)

    def eof_received(self) -> bool:
        self.end_was_seen = True
        keep_open = self._owner.end_came(self)
        # Under TLS there is no half-closed connection: asyncio warns when asked for one.
        return keep_open and self.transport is not None and self.transport.can_write_eof()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        self.is_open = False
        self.was_lost = True
        if self._abort is not None:
            self._abort.cancel()
        self._owner.lost(self)
        self.detach()

    def pause_writing(self) -> None:
        self._owner.is_full(self, True)

    def resume_writing(self) -> None:
        self._owner.is_full(self, False)

    # the relay's half

    @property
    def is_flushed(self) -> bool:
        return not self.is_open or self.transport is None or not self.transport.get_write_buffer_size()

    @property
    def unsent_bytes(self) -> int:
        return self.transport.get_write_buffer_size() if self.is_open and self.transport is not None else 0

    def write(self, parts: list[bytes]) -> None:
        """Send what one call of the session wants sent, in one write; nothing once it is closing."""
        if parts:
            self.send(parts[0] if len(parts) == 1 else b"".join(parts))

    def finish(self) -> None:
        """Flush, say goodbye, and close when the other end has said goodbye too.

        It is read until then, and what comes is dropped: closing a socket with unread bytes makes
        the kernel reset the connection, and a reset takes with it what the other end has not read
        yet, such as the last accepted batches of an acks=0 producer.
        """
        transport = self.transport
        if transport is None or transport.is_closing() or self._abort is not None:
            return
        self._abort = asyncio.get_running_loop().call_later(LINGER_S, transport.abort)
        self.gate.release_all()
        if self.end_was_seen or not transport.can_write_eof():
            transport.close()
            return
        try:
            transport.write_eof()
        except OSError:  # the other end is gone already
            transport.abort()

    def abort(self) -> None:
        """Close at once; what was not sent is lost."""
        if self.transport is not None:
            self.transport.abort()
