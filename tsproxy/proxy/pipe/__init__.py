"""Every byte of every connection goes through a pipe, in native code.

    Pipe(buffers, tally, clock)   one end of a connection
    Tally                         how many bytes were received
    Buffers                       the memory that reads go into

The filters of `tsproxy.fastpath` decide without a call into Python which bytes may be forwarded unchanged.
"""

from tsproxy.proxy.pipe._native import Pipe, Tally
from tsproxy.proxy.pipe.buffers import Buffers

__all__ = ["Buffers", "Pipe", "Tally"]
