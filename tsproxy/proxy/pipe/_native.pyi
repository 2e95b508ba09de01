import asyncio
from typing import Protocol

from tsproxy.clock import Clock
from tsproxy.fastpath import AnswerFilter, Rejecter, RequestFilter
from tsproxy.proxy.pipe.buffers import Buffers

class Tally:
    """How many bytes were received."""

    bytes: int

class Watch(Protocol):
    """An observer of a pipe's reads."""

    def begins(self, pipe: Pipe, api_key: int) -> None:
        """A read has come. `api_key` is the key of its first frame, if the read begins this frame, or ends a
        frame that is kept. Otherwise it is any number, and -1 for a read of less than six bytes."""

    def ends(self, pipe: Pipe) -> None:
        """The read is done, except for work that does not end at once."""

class Pipe:
    """Reads and writes the bytes of one end of a connection.

    `filter` decides which bytes may be forwarded unchanged. The pipe sends these to `other`, and passes the
    rest to `came`. It also keeps the beginning of a request until the end has come.
    """

    other: Pipe | None
    rejecter: Rejecter | None
    """Repeats rejections. It is used together with a filter of requests."""
    transport: asyncio.Transport | None
    was_heard: bool
    """Every read sets it to True. The code that checks it sets it back."""
    watch: Watch | None
    filter: RequestFilter | AnswerFilter | None
    """Decides which bytes may be forwarded unchanged."""

    @property
    def kept(self) -> int:
        """How many bytes of an unfinished request are kept."""
    @property
    def runs(self) -> int:
        """How often bytes were forwarded without the session."""
    def __init__(self, buffers: Buffers, tally: Tally, clock: Clock) -> None: ...

    # A subclass implements these.

    def session_bytes_received(self, data: bytes) -> None:
        """Called with bytes for the session."""
    def buffer_grew(self) -> None:
        """`kept` has grown above what `count_kept` returned last. The pipe calls this last, since it may end
        the connection."""
    def throttled(self, mute_ms: int) -> None:
        """Called when a repeated rejection throttles the client for this time."""
    def failed(self, error: Exception) -> None:
        """Called after an error in our code."""

    # asyncio calls these: see asyncio.BufferedProtocol.

    def get_buffer(self, sizehint: int) -> memoryview: ...
    def buffer_updated(self, nbytes: int) -> None: ...

    # The owner calls these.

    def attach(self, transport: asyncio.Transport) -> None:
        """Use this transport. Call it from `connection_made`. Without TLS, bytes go to the socket itself."""
    def detach(self) -> None:
        """Forget the socket, and drop the kept bytes. Call it from `connection_lost`."""
    @property
    def announced(self) -> int | None:
        """The size of the request that is kept, its size prefix included; None if that is not known yet."""
    def send(self, data: bytes | memoryview) -> None:
        """Send, unless this end is closing. `data` may be overwritten afterwards: bytes that the socket does
        not accept are copied, since transports keep references to their data."""
    def count_kept(self) -> int:
        """Return `kept`, for a sum of all connections' bytes. The sum counts these bytes until the next call,
        though they may be gone before."""
    def keep(self, data: bytes) -> None:
        """Keep the beginning of a request; nothing else may be kept."""
    def take_kept(self) -> bytes:
        """Return the kept bytes, and keep them no longer."""
    def release(self) -> None:
        """Drop the kept bytes."""
