from typing import Final

from tsproxy.wire.kernel._twin import AnswerLexer as AnswerLexer
from tsproxy.wire.kernel._twin import Finder as Finder
from tsproxy.wire.kernel._twin import InFlight as InFlight
from tsproxy.wire.kernel._twin import Rejecter as Rejecter
from tsproxy.wire.kernel._twin import RequestLexer as RequestLexer
from tsproxy.wire.kernel._twin import StreamWalker as StreamWalker
from tsproxy.wire.kernel._twin import Table as Table
from tsproxy.wire.kernel._twin import find_outside as find_outside
from tsproxy.wire.kernel._twin import holds_zeros as holds_zeros
from tsproxy.wire.kernel._twin import lz4_unfolded as lz4_unfolded
from tsproxy.wire.kernel._twin import messages as messages
from tsproxy.wire.kernel._twin import record_errors as record_errors
from tsproxy.wire.kernel._twin import skim_errors as skim_errors
from tsproxy.wire.kernel._twin import walk as walk
from tsproxy.wire.kernel._twin import zstd_unfolded as zstd_unfolded

NAME: Final[str]
