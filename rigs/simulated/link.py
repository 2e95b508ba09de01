"""Asyncio transports without a network: `Link` is the proxy's end of a connection, `far` its peer.

A link does what asyncio's selector transports do, call for call: what `close`, `abort`, `write_eof` and the
end of the other side lead to, and in which order. The network in between takes as much as the seed says,
when it says so, and breaks where the peer breaks it.

`far` has `connected(link)`, `received(data)`, `ended()` (the proxy sends no more), `broken()` (the connection
was reset), `refused()` (it was never made) and `lost()` (the proxy has been told of the end).
"""

import asyncio

from rigs.simulated.draws import Stream
from rigs.simulated.wires import NoSocket, SocketWire, TlsObject, Wire


class Link(asyncio.Transport):
    """`consumed` bytes were read by the proxy. `times_lost` is how often it was told of the end; `was_forced`
    if what it had written was dropped."""

    def __init__(self, network, stream: Stream, far, protocol, context) -> None:
        super().__init__()
        self.consumed = 0
        self.number = len(network.links)
        self.times_lost = 0
        self.end_has_arrived = False
        self.was_forced = False
        self.is_tls = context is not None
        self.far = far
        self.wire = Wire(stream) if self.is_tls else SocketWire(stream)
        self._arriving = bytearray()
        self._buffer = bytearray()
        self._context = context
        self._draws = stream
        self._high, self._low = 64 * 1024, 16 * 1024
        self._is_closing = self._has_ended = self._is_over = self._end_was_told = False
        self._is_reading = self._is_paused = self._protocol_is_paused = False
        self._far_has_ended = self._far_is_closed = self._was_reset = False
        self._far_holds = self._was_broken = False
        self._is_blocked = False
        self._loop = network.loop
        self._name = stream.name
        self._network = network
        self._protocol = protocol
        self._scheduled: set[str] = set()
        self._ssl_object = TlsObject() if self.is_tls else None
        network.add(self)

    def begin(self, waiter: asyncio.Future) -> None:
        """The order of asyncio: the protocol knows its transport, reading begins, then the caller goes on."""
        self._loop.call_soon(self._protocol.connection_made, self)
        self._loop.call_soon(self._begin_reading)
        self._loop.call_soon(lambda: waiter.done() or waiter.set_result(None))

    # The peer's half

    def far_sends(self, data: bytes) -> None:
        if self._is_over:
            self._later("break", self._far_breaks)
        else:
            self._arriving += data
            self._wake_reader()

    def far_ends(self) -> None:
        self._far_has_ended = True
        self._wake_reader()

    def far_closes(self) -> None:
        """The peer sends and reads no more. A reset answers the bytes that the proxy still writes."""
        self._far_is_closed = self._far_has_ended = True
        self._wake_reader()
        self._later("read", self._far_reads)

    def far_resets(self) -> None:
        self._far_is_closed = self._was_reset = True
        if self._draws.random() < 0.5:
            self._arriving.clear()
        self._wake_reader()

    def breaks(self) -> None:
        """The proxy is told of the peer's reset now, even if it does not read."""
        self._fatal(ConnectionResetError(104, "Connection reset by peer"))

    def far_stops_reading(self) -> None:
        self._far_holds = True

    def has_output(self) -> None:
        """The proxy has written to the network."""
        self._later("read", self._far_reads)

    def _far_reads(self) -> None:
        if self._was_broken or (self._far_holds and not self._far_is_closed):
            return
        data = self.wire.read(1 << 20 if self._far_is_closed else self._draws.piece(65_536))
        if self._far_is_closed:
            if data and not self._is_over:
                self._was_reset = True
                self._wake_reader()
        elif data:
            self.far.received(data)
        if data and self._is_blocked:
            self._is_blocked = False
            self._later("flush", self._flush)
        if data:
            self._later("read", self._far_reads)
        elif self._is_at_end and not self._far_is_closed and not self._end_was_told:
            self._end_was_told = True
            self.far.ended()

    @property
    def _is_at_end(self) -> bool:
        return self._is_over or (self._has_ended and not self._buffer)

    def _far_breaks(self) -> None:
        """A reset: what the peer has not read yet is lost. Over TLS it is not, since OpenSSL's way to wait
        for the peer's end is not simulated."""
        if self._far_is_closed:
            return
        if self.is_tls and (data := self.wire.read(1 << 30)):
            self.far.received(data)
        self._was_broken = True
        self.wire.close()
        self.far.broken()

    # Bytes that the proxy reads

    def _begin_reading(self) -> None:
        if not self._is_closing and not self._is_paused:
            self._is_reading = True
            for _ in range(self._draws.choice((0, 0, 1, 3))):  # as uvloop: before anybody can pause it
                if self._arriving or self._far_has_ended or self._was_reset:
                    self._read()
            self._wake_reader()

    def _wake_reader(self) -> None:
        if self._is_reading and (self._arriving or self._far_has_ended or self._was_reset):
            self._later("arrive", self._read)

    def _read(self) -> None:
        if not self._is_reading:
            return
        if self._arriving:
            self._read_some()
        elif self._was_reset:
            self._fatal(ConnectionResetError(104, "Connection reset by peer"))
            return
        elif self._far_has_ended:
            self._network.note(f"{self._name}: the end arrives")
            self.end_has_arrived = True
            if self._protocol.eof_received():
                self._is_reading = False
                assert not self.is_tls, "there is no half-closed connection under TLS"
            else:
                self.close()
            return
        self._wake_reader()

    def _read_some(self) -> None:
        into = self._protocol.get_buffer(-1)
        size = min(len(into), self._draws.piece(len(self._arriving)))
        assert size, "get_buffer() returned an empty buffer"
        into[:size] = self._arriving[:size]
        del self._arriving[:size]
        self.consumed += size
        self._network.note(f"{self._name}: {size} bytes arrive, {len(self._arriving)} wait")
        self._protocol.buffer_updated(size)

    def pause_reading(self) -> None:
        if not self._is_closing and not self._is_paused:
            self._is_paused, self._is_reading = True, False

    def resume_reading(self) -> None:
        if not self._is_closing and self._is_paused:
            self._is_paused, self._is_reading = False, True
            self._wake_reader()

    def is_reading(self) -> bool:
        return not self._is_closing and not self._is_paused

    # Bytes that the proxy writes

    def write(self, data) -> None:
        if self._has_ended:
            raise RuntimeError("Cannot call write() after write_eof()")
        if not data or self._is_over:
            return
        rest = bytes(data)
        if not self._buffer:
            try:
                rest = rest[self._send(rest) :]
            except OSError as error:
                self._fatal(error)
                return
            if not rest:
                return
        self._buffer += rest
        if not self._is_blocked:
            self._later("flush", self._flush)
        self._pause_if_full()

    def _send(self, data: bytes) -> int:
        if self._was_reset:
            raise BrokenPipeError(32, "Broken pipe")
        offered = data[: self._draws.piece(len(data))] if self._draws.random() < 0.3 else data
        taken = self.wire.send(offered)
        self._is_blocked = taken < len(offered)
        if self.is_tls and taken:
            self.has_output()
        return taken

    def _flush(self) -> None:
        if self._is_over or not self._buffer:
            return
        try:
            del self._buffer[: self._send(bytes(self._buffer))]
        except OSError as error:
            self._buffer.clear()
            self._fatal(error)
            return
        if self._protocol_is_paused and len(self._buffer) <= self._low:
            self._protocol_is_paused = False
            self._protocol.resume_writing()
        if self._buffer:
            if not self._is_blocked:
                self._later("flush", self._flush)
        elif self._is_closing:
            self._is_over = True
            self._lose(None)
        elif self._has_ended:
            self.has_output()

    def _pause_if_full(self) -> None:
        if len(self._buffer) > self._high and not self._protocol_is_paused:
            self._protocol_is_paused = True
            self._protocol.pause_writing()

    def set_write_buffer_limits(self, high=None, low=None) -> None:
        """The seed may have a connection call itself full long before the product's mark."""
        share = self._draws.choice([1, 64, 1024, 8192])
        self._high = high // share
        self._low = self._high // 4

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def can_write_eof(self) -> bool:
        return not self.is_tls

    def write_eof(self) -> None:
        if self._is_closing or self._has_ended:
            return
        if self.is_tls:
            raise NotImplementedError  # as asyncio's own transports over TLS do
        if self._was_reset and not self._buffer:
            raise OSError(107, "Transport endpoint is not connected")
        self._has_ended = True
        if not self._buffer:
            self.has_output()

    # Its end

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing, self._is_reading = True, False
        if not self._buffer:
            self._is_over = True
            self._loop.call_soon(self._lose, None)

    def abort(self) -> None:
        self._force(None)

    def _fatal(self, error: Exception) -> None:
        self._force(error)

    def _force(self, error: Exception | None) -> None:
        if self._is_over:
            return
        self.was_forced = True
        self._buffer.clear()
        self._is_closing, self._is_reading, self._is_over = True, False, True
        self._loop.call_soon(self._lose, error)

    def _lose(self, error: Exception | None) -> None:
        self.times_lost += 1
        self._network.note(f"{self._name}: is lost, {error!r}, {len(self._arriving)} bytes unread")
        self._protocol.connection_lost(error)
        self._network.remove(self)
        if self._arriving and not self._far_is_closed:  # unread bytes: the peer is told by a reset
            self._later("break", self._far_breaks)
        else:
            self.wire.close_inside()
            self._later("read", self._far_reads)
        self.far.lost()

    @property
    def is_settled(self) -> bool:
        """The peer has read all that it will ever read."""
        is_told = self._end_was_told or self._was_broken or self._far_is_closed or self._far_holds
        return self.times_lost > 0 and is_told

    def release(self) -> None:
        """The world is over."""
        self.wire.close()

    def get_extra_info(self, name, default=None):
        if name == "socket":
            return NoSocket() if self.is_tls else self.wire.socket
        return self._ssl_object if name == "ssl_object" else default

    def _later(self, what: str, step) -> None:
        """Once, however often it is asked for until then."""
        if what not in self._scheduled:
            self._scheduled.add(what)
            self._loop.after(self._draws.soon(), lambda: (self._scheduled.discard(what), step()))
