"""The readers in Cython. `__init__.pyi` describes each."""

from tsproxy.wire.readers._native.culprits import find_outside, record_errors, skim_errors, span
from tsproxy.wire.readers._native.fetch import FetchWalk
from tsproxy.wire.readers._native.finder import Finder
from tsproxy.wire.readers._native.lz4 import holds_zeros, lz4_size
from tsproxy.wire.readers._native.messages import messages
from tsproxy.wire.readers._native.stream import StreamWalker
from tsproxy.wire.readers._native.walk import walk
from tsproxy.wire.readers._native.zstd import zstd_size

__all__ = [
    "FetchWalk",
    "Finder",
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
