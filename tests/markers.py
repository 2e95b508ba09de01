"""Which tests need a broker or Spark. `make test-quick` runs the others.

A test is marked `broker` if it, or a fixture that it asks for, creates a `KafkaCluster`, and `spark` if it
starts a Spark session. Tests that do so through a helper are marked by hand.
"""

import os
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from types import CodeType, FunctionType

import pytest

STARTS = {"KafkaCluster": "broker", "spark_session": "spark"}
"""The name that starts Java -> the marker of tests and fixtures whose code uses the name."""


ASKED_FOR = {
    "full_only": os.environ.get("TSPROXY_TEST") == "full",
    "schedules": os.environ.get("TSPROXY_DEPLOY") == "tools",
    "go_tools": os.environ.get("TSPROXY_DEPLOY") == "tools",
    "go_and_node": os.environ.get("TSPROXY_CLIENTS", "") != "",
}
"""The marker of tests that a target of make asks for -> whether it is this run."""


def without_others(expression: str) -> str:
    """The expression of a run (`pytest -m`), without the tests that it has not asked for."""
    parts = [f"({expression})"] * bool(expression)
    return " and ".join(
        parts + [f"not {name}" for name, is_asked_for in ASKED_FOR.items() if not is_asked_for]
    )


def add_markers(item: pytest.Item) -> None:
    """Mark a test by what it and its fixtures start."""
    used = _names(getattr(item, "function", None))
    for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009 - pytest's own
        used |= _names(definitions[-1].func)
    for name in used:
        item.add_marker(STARTS[name])


def _names(function: object) -> set[str]:
    """The names of `STARTS` that a function's code uses."""
    return _names_in(function.__code__) if isinstance(function, FunctionType) else set()


def _names_in(code: CodeType) -> set[str]:
    used = set(code.co_names) & STARTS.keys()
    if not code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        used.discard("KafkaCluster")  # starts in `async with` only
    return used.union(*(_names_in(each) for each in code.co_consts if isinstance(each, CodeType)))
