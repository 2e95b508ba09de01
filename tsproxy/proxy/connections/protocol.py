"""One end of a relay: a transport, the gate that pauses reading from it, and an orderly end."""

import asyncio
import socket
from typing import Final, cast

from tsproxy.clock import Clock
from tsproxy.proxy.connections.back_pressure import (
    HIGH_WATER_BYTES,
    TLS_HIGH_WATER_BYTES,
    Hold,
    ReadGate,
)
from tsproxy.proxy.pipe import Buffers, Pipe, Tally

LINGER_S: Final = 30.0
"""How long a closed end may take to read what was sent to it before it is cut off."""


class RelayProtocol(Pipe, asyncio.BufferedProtocol):
    """The protocol of one end. The pipe reads and writes; the two ends of a relay override the hooks."""

    __slots__ = ("_abort", "end_was_seen", "gate", "is_open")

    def __init__(self, buffers: Buffers, tally: Tally, clock: Clock, *holds: Hold) -> None:
        super().__init__(buffers, tally, clock)
        self.gate = ReadGate(*holds)
        self.is_open = False
        self.end_was_seen = False
        """True once the other side has ended the connection, or it is lost."""
        self._abort: asyncio.TimerHandle | None = None

    # Hooks, beside those of the pipe

    def on_end(self) -> bool:
        """The other side sends no more. True keeps this end open for writing."""
        raise NotImplementedError

    def on_lost(self) -> None:
        """The connection has ended."""
        raise NotImplementedError

    def on_full(self, is_full: bool) -> None:
        """The transport's buffer has become full, or is no longer full."""
        raise NotImplementedError

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.attach(cast("asyncio.Transport", transport))
        assert self.transport is not None
        self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        if hasattr(self.transport, "set_read_buffer_limits"):  # both loops have it for TLS alone
            self.transport.set_read_buffer_limits(high=TLS_HIGH_WATER_BYTES)
        # Kafka's own sockets do the same: the system finds out if a peer has vanished silently.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.is_open = True
        self.gate.attach(self.transport, asyncio.get_running_loop())

    def eof_received(self) -> bool:
        self.end_was_seen = True
        keep_open = self.on_end()
        # Under TLS asyncio has no half-closed connections, and warns when code requests one.
        return keep_open and self.transport is not None and self.transport.can_write_eof()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        self.is_open = False
        self.end_was_seen = True
        if self._abort is not None:
            self._abort.cancel()
        self.on_lost()
        self.detach()

    def pause_writing(self) -> None:
        self.on_full(True)

    def resume_writing(self) -> None:
        self.on_full(False)

    # The relay's half

    @property
    def is_flushed(self) -> bool:
        return not self.is_open or self.transport is None or not self.transport.get_write_buffer_size()

    @property
    def buffered_bytes(self) -> int:
        """Memory of the transport: bytes that are not sent yet, and those that its TLS layer has received and
        this end has not read. These count twice, since the layer's read buffer has had them, too."""
        if self.transport is None or not self.is_open:
            return 0
        unread = getattr(self.transport, "get_read_buffer_size", int)()  # int() is 0: there is no such layer
        return self.transport.get_write_buffer_size() + 2 * int(unread)

    def write(self, parts: list[bytes]) -> None:
        """Send all bytes of one event of the session in one write. Nothing is sent once this end is
        closing."""
        if parts:
            self.send(parts[0] if len(parts) == 1 else b"".join(parts))

    def finish(self) -> None:
        """Flush, shut down for writing, and close when the other side has shut down too.

        Until then bytes are read and dropped: closing a socket with unread bytes makes the operating system
        reset the connection, and a reset discards data that the other side has not read yet, such as the last
        accepted batches of an acks=0 producer.
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

    @property
    def is_at_end(self) -> bool:
        """True if the next read would find the end: it is seen even while nothing is read. Never over TLS,
        whose transport may hold bytes that came before the end."""
        transport = self.transport
        if transport is None or transport.is_closing() or transport.get_extra_info("sslcontext") is not None:
            return False
        # The same descriptor: a copy could fail where none is free, and says nothing about the client then.
        same = socket.socket(fileno=transport.get_extra_info("socket").fileno())
        try:
            return not same.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:  # a reset
            return True
        finally:
            same.detach()

    def disown(self) -> None:
        """Forget a connection that was made and is not used, because connecting was given up.

        Otherwise this end would stay open for ever, with the number of a descriptor that the system gives to
        somebody else. asyncio's own loop would tell it later that the connection is lost, which may by then
        be the one to another address.
        """
        if self.transport is not None:
            self.transport.set_protocol(asyncio.BaseProtocol())
            self.transport.abort()
        self.transport, self.is_open = None, False
        self.detach()

    def abort(self) -> None:
        """Close at once. Bytes that were not sent are lost."""
        if self.transport is not None:
            self.transport.abort()
