from typing import Final

from tsproxy.proxy.pipe._python import Pipe as Pipe
from tsproxy.proxy.pipe._python import Tally as Tally

NAME: Final[str]
