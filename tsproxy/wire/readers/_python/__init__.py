"""The readers in Python, slow and plain. They use the same decoders as the rest of `wire`.

They replace the native readers if these were not built. Tests compare the two.
"""

from typing import Final

from tsproxy.wire.readers._python.culprits import find_outside, record_errors, skim_errors
from tsproxy.wire.readers._python.fetch import FetchWalk
from tsproxy.wire.readers._python.finder import Finder
from tsproxy.wire.readers._python.lz4 import holds_zeros, lz4_size
from tsproxy.wire.readers._python.messages import messages
from tsproxy.wire.readers._python.stream import StreamWalker
from tsproxy.wire.readers._python.walk import walk
from tsproxy.wire.readers._python.zstd import zstd_size

NAME: Final[str] = "python"

__all__ = [
    "NAME",
    "FetchWalk",
    "Finder",
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
