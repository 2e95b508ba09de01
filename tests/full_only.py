"""Tests that only `make test-full` runs: each varies something that another test shows in `make test`.

A test says so with the reason, which names the test or the value that stays:
`@pytest.mark.full_only("takes a minute; test_workers.py kills one, too")`. `make test` does not collect
such a test: it is no skip. The summary of a run tells how many there are.
"""

import os
from collections.abc import Iterable
from typing import Any

import pytest

from tests import markers

IS_FULL = os.environ.get("TSPROXY_TEST") == "full"
"""Whether this run is `make test-full`, for a test that takes a sample of its own."""

MARKER = "full_only"
_left_out = pytest.StashKey[int]()
_LEFT_OUT = "full_only"
"""The key of the number in what a process tells the one that gives out the tests."""


def variations(reason: str, values: Iterable[object], but: Iterable[object]) -> list[Any]:
    """All values for `parametrize`. For this reason, `make test` runs with those in `but` only."""
    stay, varies = list(but), pytest.mark.full_only(reason)
    return [value if value in stay else pytest.param(value, marks=varies) for value in values]


def brokers(reason: str) -> list[Any]:
    """The names of the fixtures of brokers, as params of a fixture `kafka`. `make test` has 4.4.0 alone."""
    varies = [pytest.mark.broker, pytest.mark.full_only(reason)]
    return [pytest.param("kafka_440", marks=pytest.mark.broker), pytest.param("kafka_391", marks=varies)]


BOTH_BROKERS = [pytest.param(name, marks=pytest.mark.broker) for name in ("kafka_440", "kafka_391")]
"""The same for tests of what differs between the releases: `make test` has both."""


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Removes the tests of `make test-full` from any other run.

    Raises UsageError for a marker without a reason.
    """
    for item in items:
        for marker in item.iter_markers(MARKER):
            if not marker.args or not isinstance(marker.args[0], str):
                raise pytest.UsageError(f"{item.nodeid}: {MARKER} needs the reason, which names what stays")
    if not IS_FULL:
        config.stash[_left_out] = markers.leave_out(config, items, MARKER)


def tell(config: pytest.Config) -> None:
    """In a process of a shared run: tells how many tests were left out."""
    if hasattr(config, "workeroutput"):
        config.workeroutput[_LEFT_OUT] = config.stash.get(_left_out, 0)


def hear(config: pytest.Config, told: dict[str, Any]) -> None:
    """In the process that gives out the tests: each process leaves out the same ones."""
    if _LEFT_OUT in told:
        config.stash[_left_out] = told[_LEFT_OUT]


def summary(config: pytest.Config) -> str | None:
    """The line that the run ends with, or None."""
    count = config.stash.get(_left_out, 0)
    return f"{count} tests are left to `make test-full`: each varies another test" if count else None
