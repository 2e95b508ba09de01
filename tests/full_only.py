"""Tests that only `make test-full` runs: each varies something that another test shows in `make test`.

A test says so with the reason, which names the test or the value that stays:
`@pytest.mark.full_only("takes a minute; test_workers.py kills one, too")`. `make test` deselects such a test:
it is no skip (`left_out` in tests/markers.py).
"""

import os
from collections.abc import Iterable
from typing import Any

import pytest

IS_FULL = os.environ.get("TSPROXY_TEST") == "full"
"""Whether this run is `make test-full`, for a test that takes a sample of its own."""


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

RELEASES = ("4.4.0", "3.9.1") if IS_FULL else ("4.4.0",)
"""The releases of brokers that a test starts itself."""
