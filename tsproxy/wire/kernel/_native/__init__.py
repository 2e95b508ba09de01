"""The kernel in Cython. What each name does is said in the package; `_twin` is the same in Python.

What Python sees of a module here, the twin's of the same name has as well. ImportError where none was built.
"""

from typing import Final

from tsproxy.wire.kernel._native.culprits import find_outside, record_errors, skim_errors
from tsproxy.wire.kernel._native.finder import Finder
from tsproxy.wire.kernel._native.in_flight import InFlight
from tsproxy.wire.kernel._native.lexers import AnswerLexer, RequestLexer
from tsproxy.wire.kernel._native.lz4 import holds_zeros, lz4_unfolded
from tsproxy.wire.kernel._native.messages import messages
from tsproxy.wire.kernel._native.rejecter import Rejecter
from tsproxy.wire.kernel._native.stream import StreamWalker
from tsproxy.wire.kernel._native.table import Table
from tsproxy.wire.kernel._native.walk import walk
from tsproxy.wire.kernel._native.zstd import zstd_unfolded

NAME: Final[str] = "native"

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
