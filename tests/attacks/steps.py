"""How much Python a call costs, counted and not timed: `bytecodes`.

CPython runs 40 to 100 million of them a second, so that 2 for each byte received are 50 ms for a MiB at most.
The work of C within one call is not counted: mostly it is a hundred times as fast. A decompressor may work
long on a few bytes, so `test_work` measures its CPU.
"""

import sys
from contextlib import contextmanager
from threading import get_ident

A_BYTE = 2
"""So many bytecodes may a byte received cost the loop: 50 ms a MiB."""
AT_ONCE = 400_000
"""So many may pass before others have their turn, whatever came: 4 to 10 ms."""
_TOOL = 4
"""No tool of Python's own has this number."""


def bytecodes(call, *arguments):
    """(what the call returns, how many bytecodes it took, all that it called included)."""
    count, here = 0, get_ident()

    def seen(*_):
        nonlocal count
        count += get_ident() == here

    with _watched(seen):
        returned = call(*arguments)
        counted = count
    return returned, counted


@contextmanager
def _watched(seen):
    """Calls `seen` for each bytecode. Since 3.12 a trace function misses the first ones of each function that
    was never traced before: on 3.12 all of its first call."""
    if sys.version_info >= (3, 12):
        watch, event = sys.monitoring, sys.monitoring.events.INSTRUCTION
        watch.use_tool_id(_TOOL, __name__)
        watch.register_callback(_TOOL, event, seen)
        watch.set_events(_TOOL, event)
        try:
            yield
        finally:
            watch.set_events(_TOOL, 0)
            watch.free_tool_id(_TOOL)
        return

    def trace(frame, event, _argument):
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            seen()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
