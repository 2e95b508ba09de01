"""The kernel: the loops that every record and every frame passes through, natively or in Python.

Native code may prove innocence; guilt is decided by whoever reads the frame with the decoders of
`wire` and the checks of `policy`. What was decided so may be repeated here, for a while and in its words.
Both variants do the same for any bytes whatever: the twin is the native kernel's oracle, and what an
install without a compiler runs on (`TSPROXY_KERNEL=twin` asks for it). None of these raises for what the
bytes hold.

    NAME                 "native" or "twin"
    walk(data, base_timestamp, count, lengths_must_fit) -> RecordFacts
                         the facts of a batch's plain records; `lengths_must_fit` as in `wire.records`
    find_outside(data, base_timestamp, count, lowest_ms, highest_ms, most) -> Outside
                         which of a batch's plain records lie outside a span, the first `most` as columns
    messages(data, start, magic, bounds) -> MessageRun
                         bare messages of magic 0 or 1 of which none is odd, passed over; theirs are the facts
    record_errors(positions, times, offset_deltas, base_offset, pieces, is_flexible) -> bytes
                         of an answer: each error's text is piece, time, piece, offset, piece
    skim_errors(data, start, count, is_flexible) -> (how many errors of an answer from `start` on were stepped
                         over, where the next begins, the lowest and the highest time that their texts tell)
    lz4_unfolded(block), zstd_unfolded(frame, blocks_at, window) -> bytes
                         what a block, or a frame, comes to by its sequences alone; -1 where a match copies
                         what is not there, or is further back than readers must keep
    StreamWalker(base_timestamp, count, lengths_must_fit)  .feed(data), .finish() -> RecordFacts
                         the same for records that come in pieces, of which it keeps nothing; any
                         pieces give what `walk` gives. Belongs to one thread
    Finder(base_timestamp, count, suspects, most)  .feed(data), .finish() -> Culprits
                         which records are suspect, of a batch without a fault that comes in pieces
    RequestLexer(...)    .passing(data, start, room, now_ms) -> end of the requests that may go on
    Rejecter(requests)    .reject(data, now_ms) -> (end of the requests that are rejected as others were,
                         the answers to them, for how many ms the client is to be silent)
    AnswerLexer(...)     .passing(data, start) -> end of the answers that may go on
    InFlight(slot_of)    what both share: the queue of requests that are not answered yet
    Table(...)           a row a topic: bounds for the RequestLexer, counts of what was accepted; and by topic
                         what the session rejected (`Rejection`), counts of what was rejected likewise

What passes is what the session, given the same frames, would have sent on unchanged: an API whose
answer nobody reads, or a Produce request of plain v2 batches inside their topic's bounds. Anything
odd does not pass, and the session decides.

Not here: buffers, decompression, verdicts.
"""

import os

from tsproxy.wire.kernel import _twin
from tsproxy.wire.kernel.message_run import ANY, Bounds, MessageRun
from tsproxy.wire.kernel.passed import PassedBatch, PassedProduce, PassedRelay
from tsproxy.wire.kernel.rejection import Rejection

try:
    if os.environ.get("TSPROXY_KERNEL") == _twin.NAME:
        raise ImportError("the twin is asked for")
    from tsproxy.wire.kernel._native import (
        NAME,
        AnswerLexer,
        Finder,
        InFlight,
        Rejecter,
        RequestLexer,
        StreamWalker,
        Table,
        find_outside,
        holds_zeros,
        lz4_unfolded,
        messages,
        record_errors,
        skim_errors,
        walk,
        zstd_unfolded,
    )
except ImportError:
    from tsproxy.wire.kernel._twin import (
        NAME,
        AnswerLexer,
        Finder,
        InFlight,
        Rejecter,
        RequestLexer,
        StreamWalker,
        Table,
        find_outside,
        holds_zeros,
        lz4_unfolded,
        messages,
        record_errors,
        skim_errors,
        walk,
        zstd_unfolded,
    )

__all__ = [
    "ANY",
    "NAME",
    "AnswerLexer",
    "Bounds",
    "Finder",
    "InFlight",
    "MessageRun",
    "PassedBatch",
    "PassedProduce",
    "PassedRelay",
    "Rejecter",
    "Rejection",
    "RequestLexer",
    "StreamWalker",
    "Table",
    "find_outside",
    "holds_zeros",
    "lz4_unfolded",
    "messages",
    "record_errors",
    "skim_errors",
    "walk",
    "zstd_unfolded",
]
