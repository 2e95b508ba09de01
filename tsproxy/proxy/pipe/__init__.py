"""What every byte of every connection goes through, natively or in Python.

    Pipe(buffers, tally, clock)   one end of a connection: what came here leaves at the other
    Tally                         how many bytes were received
    Buffers                       the memory that reads go into
    NAME                          "native" or "twin"

The variant is that of the kernel (`TSPROXY_KERNEL=twin` asks for Python), since the native pipe asks
the native lexers without a detour. What goes on and what does not is theirs to say, not the pipe's.
"""

from tsproxy.proxy.pipe.buffers import Buffers
from tsproxy.wire import kernel

if kernel.NAME == "native":
    try:
        from tsproxy.proxy.pipe._native import NAME, Pipe, Tally
    except ImportError:
        from tsproxy.proxy.pipe._twin import NAME, Pipe, Tally
else:
    from tsproxy.proxy.pipe._twin import NAME, Pipe, Tally

__all__ = ["NAME", "Buffers", "Pipe", "Tally"]
