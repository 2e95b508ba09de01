"""The readers: the loops over every record and every byte, in Cython.

They read Kafka's layouts, and those of two compression formats, without an object for each record. No bytes
that a reader reads make it raise an error. `_native/__init__.pyi` describes each. Tests compare them with
readers in plain Python (`tests/wire/readers/reference`).

Not here: buffers, decompression, verdicts, whole requests (see `tsproxy.fastpath`).
"""

from tsproxy.wire.readers._native import (
    FetchWalk,
    Finder,
    StreamWalker,
    find_outside,
    holds_zeros,
    lz4_size,
    messages,
    record_errors,
    skim_errors,
    span,
    walk,
    zstd_size,
)
from tsproxy.wire.readers.message_run import ANY, Bounds, MessageRun
from tsproxy.wire.readers.streamed import Layout

__all__ = [
    "ANY",
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
    "span",
    "walk",
    "zstd_size",
]
