"""The readers: the loops over every record and every byte, in Cython or in Python.

They read Kafka's layouts, and those of two compression formats, without an object for each record. The native
version and the pure-Python version return the same for any bytes. The pure-Python version runs if an
installation has no native code, or if `TSPROXY_NATIVE=off` turns the native code off. Tests compare the two.
No bytes that a reader reads make it raise an error.

    NAME                 "native" or "python"
    walk(data, base_timestamp, count, lengths_must_fit) -> RecordFacts
                         the facts of a batch's plain records; `lengths_must_fit` as in `wire.records`
    find_outside(data, base_timestamp, count, lowest_ms, highest_ms, most) -> Outside
                         a batch's plain records whose times are outside a span, the first `most` as columns
    messages(data, start, magic, bounds) -> MessageRun
                         a run of bare messages of magic 0 or 1 without an odd one, and their facts
    record_errors(positions, times, offset_deltas, base_offset, pieces, is_flexible) -> bytes
                         the errors of an answer: each text is piece, time, piece, offset, piece
    skim_errors(data, start, count, is_flexible) -> (how many errors of an answer from `start` on were stepped
                         over, where the next begins, the lowest and the highest time in their texts)
    lz4_size(block), zstd_size(frame, blocks_at, window) -> int
                         the decompressed size of a block or a frame, from its sequences alone; -1 if a match
                         copies bytes that are not there, or that are further back than readers must keep
    holds_zeros(data) -> True if the data has four zeros in a row
    StreamWalker(base_timestamp, count, lengths_must_fit)  .feed(data), .finish() -> RecordFacts
                         the same as `walk` for records that come in pieces. It keeps nothing of a piece, and
                         belongs to one thread
    Finder(base_timestamp, count, suspects, most)  .feed(data), .finish() -> Culprits
                         the suspect records of a batch that has no fault and comes in pieces
    FetchWalk()          the walk over an answer of Fetch (from version 16 on) or ShareFetch that comes in
                         pieces. It ends at the tail: the part behind the records that may name brokers. It
                         belongs to one connection
        .begin(size, layout)  an answer begins, of so many bytes with its size prefix
        .layout          the layout of the latest answer
        .advance(data)   how many bytes of `data` come before the tail, and are walked over. A tail that
                         names nothing is walked over, too
        .left            how many bytes of the answer are not walked over
        .is_at_tail      only the tail is left, and it may name brokers
        .is_bad          the answer does not fit its layout
        .is_over         there is no answer, or nothing of it is left. It is true after .end(), too

Not here: buffers, decompression, verdicts, whole requests (see `tsproxy.fastpath`).
"""

import os

from tsproxy.wire.readers.message_run import ANY, Bounds, MessageRun
from tsproxy.wire.readers.streamed import Layout

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
    "Layout",
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
