from typing import Final

from tsproxy.proxy.pipe._twin import Pipe as Pipe
from tsproxy.proxy.pipe._twin import Tally as Tally

NAME: Final[str]
