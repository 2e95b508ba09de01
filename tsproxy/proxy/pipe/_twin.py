"""A pipe in Python: what an install without a compiler runs on, and the native one's oracle."""

import asyncio
import os
from typing import Final, Protocol

from tsproxy.clock import Clock
from tsproxy.proxy.pipe.buffers import READ_BYTES, Buffers
from tsproxy.wire.kernel import AnswerLexer, Rejecter, RequestLexer

NAME: Final = "twin"
_SIZE_BYTES: Final = 4


class Tally:
    """How many bytes were received."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


class Watch(Protocol):
    """Whoever looks on while bytes go by."""

    def begins(self, pipe: "Pipe", api_key: int) -> None:
        """A read has come. `api_key` is that of the frame it begins, or ends, with what is kept before;
        of any other beginning it is some number, and -1 of next to nothing."""

    def ends(self, pipe: "Pipe") -> None:
        """What is to be done about the read at once is done."""


class Pipe:
    """One end of a connection as far as bytes go: what came here leaves at `other`.

    `lexer` says what may go on as it came; with None, everything is `came`'s to think about. Whatever
    goes on leaves in one write, straight from the buffer it was read into. A request whose end is not
    there yet is kept until it is.
    """

    __slots__ = (
        "_buffer",
        "_buffers",
        "_clock",
        "_expected",
        "_fd",
        "_tally",
        "kept",
        "lexer",
        "other",
        "rejecter",
        "runs",
        "transport",
        "was_heard",
        "watch",
    )

    def __init__(self, buffers: Buffers, tally: Tally, clock: Clock) -> None:
        self.kept = 0
        """Bytes of an unfinished request, at the beginning of `_buffer`."""
        self.lexer: RequestLexer | AnswerLexer | None = None
        self.other: Pipe | None = None
        self.rejecter: Rejecter | None = None
        """Makes the answers to what does not go on; beside a lexer of requests."""
        self.runs = 0
        """How often something went on."""
        self.transport: asyncio.Transport | None = None
        self.was_heard = False
        """Set by every read; whoever looks sets it back."""
        self.watch: Watch | None = None
        """Told of every read while it is here."""
        self._buffer: bytearray | None = None
        self._buffers = buffers
        self._clock = clock
        self._expected = 0
        """How large a request is likely to be, in bytes: as the last one that was kept."""
        self._fd = -1
        self._tally = tally

    # What a subclass makes of it

    def came(self, data: bytes) -> None:
        """Bytes that do not simply go on."""
        raise NotImplementedError

    def kept_more(self) -> None:
        """`kept` has grown. Called last: it may end this connection."""

    def silenced(self, silent_ms: int) -> None:
        """What was rejected costs the client so long a silence."""

    def failed(self, error: Exception) -> None:
        """A mistake of ours, while bytes were passed on."""
        raise NotImplementedError

    # asyncio's half: see asyncio.BufferedProtocol

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # asyncio's signature
        if self.kept:
            assert self._buffer is not None
            return memoryview(self._buffer)[self.kept :]
        if self._buffer is None and self._expected > READ_BYTES:
            self._buffer = self._buffers.spare(self._expected)
        return self._buffers.shared if self._buffer is None else memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self._tally.bytes += nbytes
        self.was_heard = True
        held = self._buffers.shared if self._buffer is None else memoryview(self._buffer)
        come = held[: self.kept + nbytes]
        if self.watch is not None:
            self.watch.begins(self, _api_key(come))
        try:
            end = self._pass_on(come)
            if end == len(come):
                if end <= READ_BYTES:
                    self._expected = 0
                self.let_go()
            elif isinstance(self.lexer, RequestLexer) and self.lexer.awaits_more(come[end:]):
                self._keep(come, end)
                self.kept_more()
            else:
                rest = bytes(come[end:])
                self.let_go()
                self.came(rest)
        except Exception as error:  # `failed` tells it, and ends this connection alone
            self.failed(error)
        if self.watch is not None:
            self.watch.ends(self)

    def _pass_on(self, come: memoryview) -> int:
        if self.lexer is None or self.other is None:
            return 0
        if isinstance(self.lexer, RequestLexer):
            now_ms = self._clock.now_ms()
            start = self._reject(come, now_ms)
            end = start + self.lexer.pass_on(come[start:], now_ms)
        else:
            start, end = 0, self.lexer.pass_on(come)
        if end:
            self.runs += 1
        if end > start:
            self.other.send(come[start:end])
        return end

    def _reject(self, come: memoryview, now_ms: int) -> int:
        """Answer the requests at the beginning that are rejected; how many bytes they are."""
        end, silent_ms = 0, 1
        while self.rejecter is not None and silent_ms:
            size, answers, silent_ms = self.rejecter.reject(come[end:], now_ms)
            end += size
            if size:
                self.send(answers)
            if silent_ms:
                self.silenced(silent_ms)
        return end

    # The owner's half

    def attach(self, transport: asyncio.Transport) -> None:
        """To be called from `connection_made`. Without TLS, bytes go to the socket itself."""
        self.transport = transport
        if transport.get_extra_info("ssl_object") is None:
            self._fd = transport.get_extra_info("socket").fileno()

    def detach(self) -> None:
        """To be called from `connection_lost`."""
        self._fd = -1
        self.let_go()

    @property
    def announced(self) -> int | None:
        """How large the request is that is kept, its size included; None where that is not known yet."""
        if self._buffer is None or self.kept < _SIZE_BYTES:
            return None
        return _announced(memoryview(self._buffer)[: self.kept])

    def send(self, data: bytes | memoryview) -> None:
        """Send, unless this end is closing. `data` may be written over afterwards: what the socket does
        not take is copied, since transports keep what they are given."""
        transport, sent = self.transport, 0
        if transport is None or transport.is_closing():
            return
        # A transport that is not closing still has its socket, so the number cannot be another's.
        if self._fd >= 0 and not transport.get_write_buffer_size():
            sent = _send(self._fd, data)
        if sent < len(data):
            transport.write(bytes(data[sent:]))

    def keep(self, data: bytes) -> None:
        """Take back the beginning of a request; nothing else may be kept."""
        if data:
            self._keep(memoryview(data), 0)

    def take_kept(self) -> bytes:
        """What is kept, which then is no more."""
        kept = b"" if self._buffer is None else bytes(memoryview(self._buffer)[: self.kept])
        self.let_go()
        return kept

    def let_go(self) -> None:
        """Nothing is kept."""
        self.kept = 0
        if self._buffer is not None:
            buffer, self._buffer = self._buffer, None
            self._buffers.give_back(buffer)

    def _keep(self, come: memoryview, start: int) -> None:
        """Keep what `come` holds from `start` on, with room behind it."""
        held, size = self._buffer, len(come) - start
        if start == 0 and held is not None and size < len(held):
            self.kept = size
            return
        self._expected = _announced(come[start:])
        buffer = self._buffers.lend(size, self._expected)
        buffer[:size] = come[start:]
        self._buffer, self.kept = buffer, size
        if held is not None:
            self._buffers.give_back(held)


def _api_key(come: memoryview) -> int:
    key = come[_SIZE_BYTES : _SIZE_BYTES + 2]
    return int.from_bytes(key, "big", signed=True) if len(key) == 2 else -1


def _announced(beginning: memoryview) -> int:
    """How large the whole request is, its size included; 0 where that is not known yet."""
    if len(beginning) < _SIZE_BYTES:
        return 0
    return _SIZE_BYTES + int.from_bytes(beginning[:_SIZE_BYTES], "big")


def _send(fd: int, data: bytes | memoryview) -> int:
    """How many bytes the socket took; 0 where it takes none, for whatever reason: the transport will see."""
    try:
        return os.write(fd, data)
    except OSError:
        return 0
