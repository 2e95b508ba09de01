"""Runs a test once on asyncio's own loop and once on uvloop: they differ where it hurts."""

import functools
import inspect

import pytest

from tsproxy.proxy.loop import LoopName, run

LOOPS = [LoopName.ASYNCIO, LoopName.UVLOOP]


def on_both_loops(test):
    """Turns an async test into a plain one with one more parameter, `loop_name`."""

    def run_it(loop_name, **fixtures):
        run(loop_name, lambda: test(**fixtures))

    functools.update_wrapper(run_it, test)
    del run_it.__wrapped__
    parameters = list(inspect.signature(test).parameters.values())
    loop_name = inspect.Parameter("loop_name", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run_it.__signature__ = inspect.Signature([*parameters, loop_name])
    return pytest.mark.parametrize("loop_name", LOOPS)(run_it)
