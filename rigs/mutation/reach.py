"""Which tests reach which lines. coverage.py measures it, `build/mutation` keeps it by file of tests."""

import ast
import hashlib
import itertools
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import coverage
import pytest

from rigs.mutation import trial
from rigs.mutation.mutants import ROOT, Mutant

KEPT = ROOT / "build" / "mutation"
SUITES = (
    "tests/wire",
    "tests/policy",
    "tests/session",
    "tests/model",
    "tests/fastpath",
    "tests/verdicts",
    "tests/offline/test_explain.py",
)


class NotGreenError(Exception):
    """Tests fail before anything is changed. This file has what pytest said."""


class Reach:
    """`seconds`: of each test. `lines`: path -> line -> tests; the name "" stands for the imports."""

    def __init__(self) -> None:
        self.most_seconds: float = float("inf")
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._naming: dict[str, set[str]] = {}

    def add(self, measured: dict) -> None:
        self.seconds |= measured["seconds"]
        for path, lines in measured["lines"].items():
            for line, tests in lines.items():
                self.lines[path][int(line)].update(tests)

    def within(self, tests: trial.Tests) -> trial.Tests:
        """The first of them that together take no more than `most_seconds`."""
        sums = itertools.accumulate(tests.values())
        return {
            name: tests[name] for name, total in zip(tests, sums, strict=True) if total <= self.most_seconds
        }

    def of(self, mutant: Mutant) -> tuple[trial.Tests, bool]:
        """The tests to run, and whether the mutant must be imported.

        If a line runs during imports, they are the tests of the lines that name what it defines, and then all
        of that module.
        """
        lines = self.lines[mutant.path]
        found = set().union(*(lines.get(line, set()) for line in mutant.statement))
        is_imported = "" in found
        for name in _cached_around(mutant):  # only the first test of all has reached it
            found = found | self._of_name(name)
        tests = self._ordered(found)
        if is_imported:
            tests |= self._ordered(set().union(*(self._of_name(name) for name in _defined(mutant))))
            tests |= self._ordered(set().union(*lines.values()))
        return (tests or self._ordered(set(self.seconds))) if is_imported else tests, is_imported

    def _ordered(self, tests: set[str]) -> trial.Tests:
        known = [name for name in tests if name in self.seconds]
        return {name: self.seconds[name] for name in sorted(known, key=lambda one: (self.seconds[one], one))}

    def _of_name(self, name: str) -> set[str]:
        """The tests of all lines that name it, in the product or in a file of tests."""
        if name not in self._naming:
            found: set[str] = set()
            word = re.compile(rf"\b{re.escape(name)}\b")
            for path in (*_sources("tsproxy"), *_test_files()):
                text = (ROOT / path).read_text()
                if not word.search(text):
                    continue
                if path.startswith("tests/"):
                    found.update(test for test in self.seconds if test.startswith(path + "::"))
                for number, line in enumerate(text.splitlines(), 1):
                    if word.search(line):
                        found.update(self.lines[path].get(number, ()))
            self._naming[name] = found
        return self._naming[name]


@cache
def _sources(folder: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py"))


@cache
def _test_files() -> list[str]:
    every = [path for suite in SUITES for path in [ROOT / suite, *(ROOT / suite).rglob("test_*.py")]]
    return [str(path.relative_to(ROOT)) for path in sorted(set(every)) if path.suffix == ".py"]


def _defined(mutant: Mutant) -> Iterator[str]:
    """The names that the statement of a mutant outside of functions binds."""
    first = (ROOT / mutant.path).read_text().splitlines()[mutant.statement.start - 1]
    if name := re.match(r"\s*(?:class |def )?(\w+)", first):
        yield name[1]


def _cached_around(mutant: Mutant) -> Iterator[str]:
    """The function around a mutant that is called once and then kept, if there is one."""
    for node in ast.walk(ast.parse((ROOT / mutant.path).read_text())):
        is_around = isinstance(node, ast.FunctionDef) and node.lineno <= mutant.line <= node.end_lineno
        if is_around and any("cache" in ast.unparse(each) for each in node.decorator_list):
            yield node.name


def measured() -> Reach:
    """Runs the files of tests that are not known as they are now. Raises NotGreenError."""
    KEPT.mkdir(parents=True, exist_ok=True)
    around = hashlib.sha256()
    own = set(_test_files())
    helpers = [path for suite in SUITES for path in _sources(suite) if path not in own]
    for path in (*_sources("tsproxy"), *helpers, "conftest.py"):
        around.update((ROOT / path).read_bytes())
    reach, missing = Reach(), {}
    for path in _test_files():
        digest = around.copy()
        digest.update(path.encode() + (ROOT / path).read_bytes())
        kept = KEPT / f"{digest.hexdigest()}.json"
        if kept.exists():
            reach.add(json.loads(kept.read_text()))
        else:
            missing[path] = kept
    if missing:
        said = KEPT / "measured.txt"
        os.waitpid(trial.fork(lambda: _measure(missing), str(said)), 0)
        for kept in missing.values():
            if not kept.exists():
                raise NotGreenError(said)
            reach.add(json.loads(kept.read_text()))
    return reach


def _measure(missing: dict[str, Path]) -> int:
    data = coverage.Coverage(data_file=None, source=[str(ROOT / "tsproxy")], config_file=False)
    data.start()
    watch = _Watch(data)
    status = pytest.main([*trial.OPTIONS, *trial.QUICK, *missing], plugins=[watch])
    data.stop()
    if status != pytest.ExitCode.OK:
        return 1
    per_file: dict[str, dict] = {path: {"seconds": {}, "lines": {}} for path in missing}
    for name, seconds in watch.seconds.items():
        per_file[name.partition("::")[0]]["seconds"][name] = seconds
    found = data.get_data()
    for file in found.measured_files():
        path = str(Path(file).relative_to(ROOT))
        for line, names in found.contexts_by_lineno(file).items():
            for name in names:
                for owner in [name.partition("::")[0]] if name else per_file:
                    per_file[owner]["lines"].setdefault(path, {}).setdefault(line, []).append(name)
    for path, kept in missing.items():
        kept.write_text(json.dumps(per_file[path]))
    return 0


class _Watch:
    def __init__(self, data: coverage.Coverage) -> None:
        self._data = data
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        self._data.switch_context(item.nodeid)
        before = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - before
            self._data.switch_context("")
