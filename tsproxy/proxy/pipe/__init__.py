"""Every byte of every connection goes through a pipe, natively or in Python.

    Pipe(buffers, tally, clock)   one end of a connection
    Tally                         how many bytes were received
    Buffers                       the memory that reads go into
    NAME                          "native" or "python"

In the native pipe, the filters of `tsproxy.fastpath` decide without a call into Python which bytes may be
forwarded unchanged. The pipe in Python gives all bytes to the session; it is for installations without native
code.
"""

from tsproxy import fastpath
from tsproxy.proxy.pipe.buffers import Buffers

if fastpath.IS_AVAILABLE:
    try:
        from tsproxy.proxy.pipe._native import NAME, Pipe, Tally
    except ImportError:
        from tsproxy.proxy.pipe._python import NAME, Pipe, Tally
else:
    from tsproxy.proxy.pipe._python import NAME, Pipe, Tally

__all__ = ["NAME", "Buffers", "Pipe", "Tally"]
