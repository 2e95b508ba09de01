from typing import Final

from tsproxy.wire.readers._python import FetchWalk as FetchWalk
from tsproxy.wire.readers._python import Finder as Finder
from tsproxy.wire.readers._python import StreamWalker as StreamWalker
from tsproxy.wire.readers._python import find_outside as find_outside
from tsproxy.wire.readers._python import holds_zeros as holds_zeros
from tsproxy.wire.readers._python import lz4_size as lz4_size
from tsproxy.wire.readers._python import messages as messages
from tsproxy.wire.readers._python import record_errors as record_errors
from tsproxy.wire.readers._python import skim_errors as skim_errors
from tsproxy.wire.readers._python import walk as walk
from tsproxy.wire.readers._python import zstd_size as zstd_size

NAME: Final[str]
