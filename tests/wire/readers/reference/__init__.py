"""The readers of `tsproxy.wire.readers` in Python, slow and plain. Tests and fuzzers compare the two.

They use the same decoders as the rest of `wire`.
"""

from tests.wire.readers.reference.culprits import find_outside, record_errors, skim_errors, span
from tests.wire.readers.reference.fetch import FetchWalk
from tests.wire.readers.reference.finder import Finder
from tests.wire.readers.reference.lz4 import holds_zeros, lz4_size
from tests.wire.readers.reference.messages import messages
from tests.wire.readers.reference.stream import StreamWalker
from tests.wire.readers.reference.walk import walk
from tests.wire.readers.reference.zstd import zstd_size, zstd_work
