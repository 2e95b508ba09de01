"""A pipe in Python, for an installation without native code: all bytes go to the session."""

import asyncio
import os
from typing import TYPE_CHECKING, Final, Protocol

from tsproxy.clock import Clock
from tsproxy.proxy.pipe.buffers import Buffers

if TYPE_CHECKING:  # an installation without native code has none of these
    from tsproxy.fastpath import AnswerFilter, Rejecter, RequestFilter

NAME: Final = "python"
_KEY_AT: Final = 4


class Tally:
    """How many bytes were received."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


class Watch(Protocol):
    """An observer of a pipe's reads."""

    def begins(self, pipe: "Pipe", api_key: int) -> None:
        """A read has come. `api_key` is the key of its first frame, if the read begins this frame, or ends a
        frame that is kept. Otherwise it is any number, and -1 for a read of less than six bytes."""

    def ends(self, pipe: "Pipe") -> None:
        """The read is done, except for work that does not end at once."""


class Pipe:
    """Reads and writes the bytes of one end of a connection.

    The native pipe has the same interface. There `filter` decides which bytes may be forwarded unchanged. The
    native pipe sends these to `other`, and passes the rest to `came`. It also keeps the beginning of a
    request until the end has come. This pipe passes all bytes to `came` and keeps nothing.
    """

    __slots__ = ("_buffers", "_fd", "_tally", "other", "rejecter", "transport", "was_heard", "watch")

    kept = 0
    """How many bytes of an unfinished request are kept."""
    runs = 0
    """How often bytes were forwarded without the session."""

    def __init__(self, buffers: Buffers, tally: Tally, clock: Clock) -> None:  # noqa: ARG002  # for the native one
        self.other: Pipe | None = None
        self.rejecter: Rejecter | None = None
        """Repeats rejections. It is used together with a filter of requests."""
        self.transport: asyncio.Transport | None = None
        self.was_heard = False
        """Every read sets it to True. The code that checks it sets it back."""
        self.watch: Watch | None = None
        self._buffers = buffers
        self._fd = -1
        self._tally = tally

    @property
    def filter(self) -> "RequestFilter | AnswerFilter | None":
        """Decides which bytes may be forwarded unchanged. This pipe has no filter, even after one was set."""
        return None

    @filter.setter
    def filter(self, chosen: "RequestFilter | AnswerFilter | None") -> None:
        pass

    # A subclass implements these.

    def came(self, data: bytes) -> None:
        """Called with bytes for the session."""
        raise NotImplementedError

    def kept_more(self) -> None:
        """`kept` has grown. The pipe calls this last, since it may end the connection."""

    def throttled(self, mute_ms: int) -> None:
        """Called when a repeated rejection throttles the client for this time."""

    def failed(self, error: Exception) -> None:
        """Called after an error in our code."""
        raise NotImplementedError

    # asyncio calls these: see asyncio.BufferedProtocol.

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # asyncio's signature
        return self._buffers.shared

    def buffer_updated(self, nbytes: int) -> None:
        self._tally.bytes += nbytes
        self.was_heard = True
        data = bytes(self._buffers.shared[:nbytes])
        if self.watch is not None:
            key = data[_KEY_AT : _KEY_AT + 2]
            self.watch.begins(self, int.from_bytes(key, "big", signed=True) if len(key) == 2 else -1)
        try:
            self.came(data)
        except Exception as error:  # `failed` logs it, and ends this connection alone
            self.failed(error)
        if self.watch is not None:
            self.watch.ends(self)

    # The owner calls these.

    def attach(self, transport: asyncio.Transport) -> None:
        """Use this transport. Call it from `connection_made`. Without TLS, bytes go to the socket itself."""
        self.transport = transport
        if transport.get_extra_info("ssl_object") is None:
            self._fd = transport.get_extra_info("socket").fileno()

    def detach(self) -> None:
        """Forget the socket. Call it from `connection_lost`."""
        self._fd = -1

    @property
    def announced(self) -> int | None:
        """The size of the request that is kept, its size prefix included; None if that is not known yet."""
        return None

    def send(self, data: bytes | memoryview) -> None:
        """Send, unless this end is closing. `data` may be overwritten afterwards: bytes that the socket does
        not accept are copied, since transports keep references to their data."""
        transport, sent = self.transport, 0
        if transport is None or transport.is_closing():
            return
        # A transport that is not closing still has its socket, so no other file can have this descriptor.
        if self._fd >= 0 and not transport.get_write_buffer_size():
            sent = _send(self._fd, data)
        if sent < len(data):
            transport.write(bytes(data[sent:]))

    def keep(self, data: bytes) -> None:
        """Keep the beginning of a request; nothing else may be kept."""
        assert not data, "only a pipe with a filter keeps anything"

    def take_kept(self) -> bytes:
        """Return the kept bytes, and keep them no longer."""
        return b""

    def let_go(self) -> None:
        """Drop the kept bytes."""


def _send(fd: int, data: bytes | memoryview) -> int:
    """The number of bytes that the socket accepted; 0 after any error, since the transport will get the same
    error."""
    try:
        return os.write(fd, data)
    except OSError:
        return 0
