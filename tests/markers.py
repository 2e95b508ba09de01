"""Which tests need a broker or Spark, and a guard that holds the others to it.

A test is marked `broker` if it, or a fixture that it asks for, creates a `KafkaCluster`, and `spark` if it
starts a Spark session. Tests that do so through a helper are marked by hand. In every run, a test without
either marker finds a `java` that does not start: the test then fails, whichever process asked for Java. So
`make test-quick`, which runs the tests without a marker, never starts a broker or Spark.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FunctionType

import pytest

STARTS = {"KafkaCluster": "broker", "spark_session": "spark"}
"""The name that starts Java -> the marker of tests and fixtures whose code uses the name."""

NO_JAVA = """\
#!/bin/sh
echo "java $*" >> "{started}"
echo "This test has neither the marker broker nor spark: it may not start Java." >&2
exit 97
"""


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


def needs_java(item: pytest.Item) -> bool:
    """Whether the test is not of the quick set."""
    return any(item.get_closest_marker(marker) for marker in STARTS.values())


class NoJava:
    """A folder with a `bin/java` that only notes that it was started."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="tsproxy-no-java-")
        self._home = Path(self._folder.name)
        self._started = self._home / "started"
        java = self._home / "bin" / "java"
        java.parent.mkdir()
        java.write_text(NO_JAVA.format(started=self._started))
        java.chmod(0o755)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """For one test, every process of it finds this java."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JAVA_HOME", str(self._home))
            patch.setenv("PATH", f"{self._home}/bin", prepend=os.pathsep)
            yield

    def check(self) -> None:
        """OnError the test that started Java."""
        if self._started.exists():
            commands = self._started.read_text()
            self._started.unlink()
            pytest.fail(
                f"Not in the quick set: mark this test broker or spark. It started\n{commands}", pytrace=False
            )


def _names(function: object) -> set[str]:
    """The names of `STARTS` that a function's code uses."""
    return _names_in(function.__code__) if isinstance(function, FunctionType) else set()


def _names_in(code: CodeType) -> set[str]:
    used = set(code.co_names) & STARTS.keys()
    if not code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        used.discard("KafkaCluster")  # starts in `async with` only
    return used.union(*(_names_in(each) for each in code.co_consts if isinstance(each, CodeType)))
