"""The readers: the loops over every record and every byte, in Cython.

They read Kafka's layouts, and those of two compression formats, without an object for each record. No bytes
that a reader reads make it raise an error. `__init__.pyi` describes each. Tests compare them with readers in
plain Python (`tests/wire/readers/reference`).

Not here: buffers, decompression, verdicts, whole requests (see `tsproxy.fastpath`).
"""

from tsproxy.wire.readers._native.culprits import find_outside, record_errors, skim_errors, span
from tsproxy.wire.readers._native.fetch import FetchWalk
from tsproxy.wire.readers._native.finder import Finder
from tsproxy.wire.readers._native.lz4 import holds_zeros, lz4_size
from tsproxy.wire.readers._native.messages import messages
from tsproxy.wire.readers._native.stream import StreamWalker
from tsproxy.wire.readers._native.walk import columns, spans, walk
from tsproxy.wire.readers._native.zstd import zstd_size, zstd_work
from tsproxy.wire.readers.message_run import ANY, Bounds, MessageRun
from tsproxy.wire.readers.streamed import Layout
