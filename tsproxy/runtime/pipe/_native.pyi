from typing import Final

from tsproxy.runtime.pipe._twin import Pipe as Pipe
from tsproxy.runtime.pipe._twin import Tally as Tally

NAME: Final[str]
