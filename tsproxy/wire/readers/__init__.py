"""The readers: the loops over every record and every byte, in Cython or in Python.

They read Kafka's layouts, and two of compression, without an object for each record. The native version and
the pure-Python version give the same for any bytes whatever. The pure-Python version runs where an
installation has no native code (`TSPROXY_NATIVE=off` asks for that), and tests compare the two. No reader
raises for what the bytes hold.

    NAME                 "native" or "python"
    walk(data, base_timestamp, count, lengths_must_fit) -> RecordFacts
                         the facts of a batch's plain records; `lengths_must_fit` as in `wire.records`
    find_outside(data, base_timestamp, count, lowest_ms, highest_ms, most) -> Outside
                         which of a batch's plain records lie outside a span, the first `most` as columns
    messages(data, start, magic, bounds) -> MessageRun
                         a run of bare messages of magic 0 or 1 of which none is odd, and their facts
    record_errors(positions, times, offset_deltas, base_offset, pieces, is_flexible) -> bytes
                         the errors of an answer: each text is piece, time, piece, offset, piece
    skim_errors(data, start, count, is_flexible) -> (how many errors of an answer from `start` on were stepped
                         over, where the next begins, the lowest and the highest time that their texts tell)
    lz4_size(block), zstd_size(frame, blocks_at, window) -> int
                         how many bytes a block, or a frame, decompresses to, by its sequences alone; -1 if a
                         match copies what is not there, or is further back than readers must keep
    holds_zeros(data) -> True if four zeros stand in a row
    StreamWalker(base_timestamp, count, lengths_must_fit)  .feed(data), .finish() -> RecordFacts
                         the same as `walk` for records that come in pieces, of which it keeps nothing.
                         Belongs to one thread
    Finder(base_timestamp, count, suspects, most)  .feed(data), .finish() -> Culprits
                         which records are suspect, of a batch without a fault that comes in pieces
    FetchWalk()          a Fetch answer from version 16 on that comes in pieces, up to its tail: the tagged
                         fields of the answer itself, which follow the records. Belongs to one connection
        .begin(size)     an answer begins, of so many bytes with its size prefix
        .advance(data)   how many bytes of `data` come before the tail, and are walked over. A tail without
                         fields counts, too
        .left            how many bytes of the answer are not walked over
        .is_at_tail      the tail has fields, and is all that is left
        .is_bad          the answer does not fit its layout
        .is_over         there is no answer, or nothing of it is left: also after .end()

Not here: buffers, decompression, verdicts, whole requests (see `tsproxy.fastpath`).
"""

import os

from tsproxy.wire.readers.message_run import ANY, Bounds, MessageRun

try:
    if os.environ.get("TSPROXY_NATIVE") == "off":
        raise ImportError("no native code is wanted")
    from tsproxy.wire.readers._native import (
        NAME,
        FetchWalk,
        Finder,
        StreamWalker,
        find_outside,
        holds_zeros,
        lz4_size,
        messages,
        record_errors,
        skim_errors,
        walk,
        zstd_size,
    )
except ImportError:
    from tsproxy.wire.readers._python import (
        NAME,
        FetchWalk,
        Finder,
        StreamWalker,
        find_outside,
        holds_zeros,
        lz4_size,
        messages,
        record_errors,
        skim_errors,
        walk,
        zstd_size,
    )

__all__ = [
    "ANY",
    "NAME",
    "Bounds",
    "FetchWalk",
    "Finder",
    "MessageRun",
    "StreamWalker",
    "find_outside",
    "holds_zeros",
    "lz4_size",
    "messages",
    "record_errors",
    "skim_errors",
    "walk",
    "zstd_size",
]
