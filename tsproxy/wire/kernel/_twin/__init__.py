"""The kernel in Python: the native one's oracle, and its stand-in where it is not built.

Made of the decoders that the rest of `wire` uses, so it is slow and plain.
"""

from typing import Final

from tsproxy.wire.kernel._twin.culprits import find_outside, record_errors, skim_errors
from tsproxy.wire.kernel._twin.finder import Finder
from tsproxy.wire.kernel._twin.in_flight import InFlight
from tsproxy.wire.kernel._twin.lexers import AnswerLexer, RequestLexer
from tsproxy.wire.kernel._twin.lz4 import holds_zeros, lz4_unfolded
from tsproxy.wire.kernel._twin.messages import messages
from tsproxy.wire.kernel._twin.rejecter import Rejecter
from tsproxy.wire.kernel._twin.stream import StreamWalker
from tsproxy.wire.kernel._twin.table import Table
from tsproxy.wire.kernel._twin.walk import walk
from tsproxy.wire.kernel._twin.zstd import zstd_unfolded

NAME: Final[str] = "twin"

__all__ = [
    "NAME",
    "AnswerLexer",
    "Finder",
    "InFlight",
    "Rejecter",
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
