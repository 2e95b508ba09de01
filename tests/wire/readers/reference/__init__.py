"""The readers of `tsproxy.wire.readers` in Python, slow and plain. Tests and fuzzers compare the two.

They use the same decoders as the rest of `wire`. A reader that takes pieces is compared with one that has the
whole.
"""

from tests.wire.readers.reference.fetch import fetch_end
from tests.wire.readers.reference.lz4 import holds_zeros, lz4_size
from tests.wire.readers.reference.messages import messages
from tests.wire.readers.reference.records import (
    columns,
    find_outside,
    record_errors,
    skim_errors,
    spans,
    walk,
)
from tests.wire.readers.reference.zstd import zstd_size, zstd_work
