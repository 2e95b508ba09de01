"""The kernel: the few loops that every record passes through, natively or in Python.

Native code may prove innocence; guilt is decided by whoever reads the records as columns
(`wire.records`). Both variants give the same facts for any bytes whatever: the twin is the native
kernel's oracle, and what an install without a compiler runs on. `TSPROXY_KERNEL=twin` chooses it.

    NAME                                                        "native" or "twin"
    walk(data, base_timestamp, count, lengths_must_fit)         -> RecordFacts
    StreamWalker(base_timestamp, count, lengths_must_fit)       the same for records that come in pieces:
        .feed(data), .finish() -> RecordFacts                   any pieces give what `walk` gives

A StreamWalker keeps nothing of what it is fed, however long a record is. It belongs to one thread.
`data` is a batch's plain records in one contiguous buffer. `lengths_must_fit` as in `wire.records`:
true for records that came uncompressed. Never raises for what the bytes hold.

Not here: decompression, checksums, headers of batches and requests, verdicts.
"""

import os

from tsproxy.wire.kernel import _twin, _twin_stream

if os.environ.get("TSPROXY_KERNEL") == _twin.NAME:
    NAME, walk, StreamWalker = _twin.NAME, _twin.walk, _twin_stream.StreamWalker
else:
    try:
        from tsproxy.wire.kernel._kernel import (  # type: ignore[assignment]  # another class, the same face
            NAME,
            StreamWalker,
            walk,
        )
    except ImportError:
        NAME, walk, StreamWalker = _twin.NAME, _twin.walk, _twin_stream.StreamWalker

__all__ = ["NAME", "StreamWalker", "walk"]
