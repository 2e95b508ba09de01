from array import array

from tsproxy.model.records import Culprits, Outside, RecordFacts, Records, Suspects
from tsproxy.wire.readers.message_run import ANY as ANY
from tsproxy.wire.readers.message_run import Bounds as Bounds
from tsproxy.wire.readers.message_run import MessageRun as MessageRun
from tsproxy.wire.readers.streamed import Layout as Layout

def walk(data: bytes | memoryview, base_timestamp: int, count: int, lengths_must_fit: bool) -> RecordFacts:
    """The facts of a batch's `count` plain records, up to the first fault; `lengths_must_fit` as in
    `wire.records`."""

def columns(data: bytes | memoryview, base_timestamp: int, count: int, lengths_must_fit: bool) -> Records:
    """A batch's `count` plain records as columns, up to the first fault."""

def spans(data: bytes | memoryview, start: int, most: int, lengths_must_fit: bool) -> array[int]:
    """Positions in up to `most` plain records from `start` on, before the first one that is not right. Each
    record has four: of its attributes, of its offset_delta, of its header count, and its end."""

def find_outside(
    data: bytes | memoryview, base_timestamp: int, count: int, lowest_ms: int, highest_ms: int, most: int
) -> Outside:
    """A batch's plain records whose times are outside a span, the first `most` as columns."""

def messages(data: bytes | memoryview, start: int, magic: int, bounds: Bounds = ...) -> MessageRun:
    """The run of bare messages that begins at `start`, and its facts: whole messages of that magic (0 or 1),
    within `bounds`. They are not compressed, no known attribute bit is set, and their checksums, keys and
    values are right."""

def record_errors(
    indices: array[int],
    times: array[int],
    offset_deltas: array[int],
    base_offset: int,
    pieces: tuple[bytes, bytes, bytes],
    is_flexible: bool,
) -> bytes:
    """The errors of an answer's partition, one after the other, without their count. Each text is piece,
    time, piece, offset, piece."""

def span(times: array[int]) -> tuple[int, int]:
    """The lowest and the highest of a column of times (an array of q) that is not empty."""

def skim_errors(
    data: bytes | memoryview, start: int, count: int, is_flexible: bool
) -> tuple[int, int, int | None, int | None]:
    """(how many of `count` errors of an answer were stepped over, where the next begins, the lowest and the
    highest time in their texts).

    It stops before the first error that has tags, is not whole, or is encoded differently than
    `wire.primitives` encodes the same values."""

def lz4_size(data: bytes | memoryview) -> int:
    """The decompressed size of a block of lz4, in bytes, from its sequences alone. Source:
    lz4_Block_format.md.

    It is -1 if a match copies bytes that are not written yet: its offset is 0, or it begins before the block.
    It is also -1 if the sequences do not end with the data."""

def holds_zeros(data: bytes | bytearray | memoryview) -> bool:
    """True if the data has four zeros in a row. lz4's C code writes four zeros for the shortest match of
    offset 0."""

def zstd_size(frame: bytes | memoryview, blocks_at: int, window: int) -> int:
    """The decompressed size of a frame of zstd, in bytes, from its sequences alone: literals are not decoded.
    Its blocks begin at `blocks_at`. Source: RFC 8878, 3.1 and 4.1.

    It is -1 if a match reaches back further than `window` bytes or to before the frame, or if the blocks are
    malformed."""

def zstd_work(frame: bytes | memoryview, blocks_at: int, behind: int) -> int:
    """The work of decompressing a frame of zstd and of `zstd_size`, beside that for the output, in bytes of
    output: 6,000 a block and 20 a sequence. Only the headers of blocks are read. The blocks begin at
    `blocks_at`. Source: RFC 8878, 3.1.

    To make the tables of a block takes 6 us in both together, and 40,000 sequences may need no more than ten
    bytes. It is -1 if a block is cut short, or if not exactly `behind` bytes follow the last one."""

class StreamWalker:
    """The same as `walk` for records that come in pieces. It keeps nothing of a piece, and belongs to one
    thread."""

    def __init__(self, base_timestamp: int, count: int, lengths_must_fit: bool) -> None: ...
    def feed(self, data: bytes | memoryview) -> None: ...
    def finish(self) -> RecordFacts: ...

class Finder:
    """Finds the suspect records of a batch that has no fault and comes in pieces. It keeps nothing of a
    piece."""

    def __init__(self, base_timestamp: int, count: int, suspects: Suspects, most: int) -> None: ...
    def feed(self, data: bytes | memoryview) -> None: ...
    def finish(self) -> Culprits:
        """The suspects in all pieces."""

class FetchWalk:
    """The walk over an answer of Fetch (from version 16 on) or ShareFetch that comes in pieces.

    It ends at the tail: the part behind the records that may name brokers. It belongs to one connection.
    """

    @property
    def layout(self) -> Layout:
        """The layout of the latest answer."""
    @property
    def left(self) -> int:
        """How many bytes of the answer are not walked over."""
    @property
    def is_at_tail(self) -> bool:
        """Only the tail is left, and it may name brokers."""
    @property
    def is_bad(self) -> bool:
        """The answer does not fit its layout."""
    @property
    def is_over(self) -> bool:
        """There is no answer, or nothing of it is left. It is true after `end`, too."""
    def begin(self, size: int, layout: Layout = ...) -> None:
        """An answer begins, of so many bytes with its size prefix."""
    def end(self) -> None: ...
    def advance(self, data: bytes | memoryview) -> int:
        """How many bytes of `data` come before the tail, and are walked over. A tail that names nothing is
        walked over, too."""
