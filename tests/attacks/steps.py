"""How much Python a call costs, counted and not timed: `bytecodes`.

CPython runs 40 to 100 million of them a second, so that 2 for each byte received are 50 ms for a MiB at most.
The work of C within one call is not counted: mostly it is a hundred times as fast. A decompressor may work
long on a few bytes, so `test_work` measures its CPU.
"""

import sys

A_BYTE = 2
"""So many bytecodes may a byte received cost the loop: 50 ms a MiB."""
AT_ONCE = 400_000
"""So many may pass before others have their turn, whatever came: 4 to 10 ms."""


def bytecodes(call, *arguments):
    """(what the call returns, how many bytecodes it took, all that it called included)."""
    count = 0

    def trace(frame, event, _argument):
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        returned = call(*arguments)
    finally:
        sys.settrace(before)
    return returned, count
