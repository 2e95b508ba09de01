"""Which tests need a broker or Spark. `make test-quick` runs the others.

A test is marked `broker` if it, or a fixture that it asks for, creates a `KafkaCluster`, and `spark` if it
starts a Spark session. Tests that do so through a helper are marked by hand.
"""

from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from types import CodeType, FunctionType

import pytest

STARTS = {"KafkaCluster": "broker", "spark_session": "spark"}
"""The name that starts Java -> the marker of tests and fixtures whose code uses the name."""


def add_markers(item: pytest.Item) -> None:
    """Mark a test by what it and its fixtures start."""
    used = _names(getattr(item, "function", None))
    for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009 - pytest's own
        used |= _names(definitions[-1].func)
    for name in used:
        item.add_marker(STARTS[name])


def leave_out(config: pytest.Config, items: list[pytest.Item], marker: str) -> int:
    """Remove the tests with this marker from a run. Returns their number."""
    marked = [item for item in items if any(item.iter_markers(marker))]
    if marked:
        config.hook.pytest_deselected(items=marked)
        items[:] = [item for item in items if item not in marked]
    return len(marked)


def _names(function: object) -> set[str]:
    """The names of `STARTS` that a function's code uses."""
    return _names_in(function.__code__) if isinstance(function, FunctionType) else set()


def _names_in(code: CodeType) -> set[str]:
    used = set(code.co_names) & STARTS.keys()
    if not code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        used.discard("KafkaCluster")  # starts in `async with` only
    return used.union(*(_names_in(each) for each in code.co_consts if isinstance(each, CodeType)))
