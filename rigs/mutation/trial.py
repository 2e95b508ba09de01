"""The trial of mutants, each in a fork that runs the tests which reach it, the quickest first.

A test may take five times its CPU seconds and two more, so a mutant that never ends is caught. No trial
writes to the tree.
"""

import contextlib
import gc
import importlib.abc
import importlib.util
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

import aiokafka  # noqa: F401 # loaded once for all trials that import
import confluent_kafka  # noqa: F401 # loaded once for all trials that import
import cryptography.x509  # noqa: F401 # loaded once for all trials that import
import hypothesis.strategies  # noqa: F401 # loaded once for all trials that import
import kio.index  # noqa: F401 # loaded once for all trials that import
import pyspark.sql  # noqa: F401 # loaded once for all trials that import
import pytest
from hypothesis import Phase, settings

from rigs.mutation import in_place
from rigs.mutation.mutants import ROOT, Mutant, untouched

OPTIONS = (
    "-x",
    "-q",
    "-s",
    "--tb=no",
    "--assert=plain",
    "-p",
    "no:cacheprovider",
    "--timeout=0",
    "--hypothesis-seed=0",
)
QUICK = ("-m", "not broker and not spark and not slow")
MEMORY_BYTES = 4 << 30
"""A mutant that reads for ever ends at this, or at the time of its test."""

settings.register_profile(
    "mutation", max_examples=50, deadline=None, database=None, phases=[Phase.explicit, Phase.generate]
)
"""As many examples as `make test` draws. Red is enough: no time is spent on the smallest example of it."""
PROFILE = {"TSPROXY_TEST": "mutation"}

SURVIVED, CAUGHT, MUST_BE_IMPORTED = range(3)
"""How the process of a trial ends. A signal means that it was caught."""

Tests = dict[str, float]
"""The CPU seconds of each test by its node id, in the order in which they run."""


def fork(run: Callable[[], int], output: str = os.devnull) -> int:
    """The id of a new process that ends with what `run` returns, or as CAUGHT if that raises."""
    process = os.fork()
    if process == 0:
        status = CAUGHT
        try:
            written = os.open(output, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            for stream in range(3):
                os.dup2(written, stream)
            status = run()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return process


def first_ended(processes: Iterable[int]) -> int:
    """The first of these children that ends. Others of this process are left to those who wait for them."""
    with contextlib.ExitStack() as stack:
        watched = {}
        for process in processes:
            watched[descriptor := os.pidfd_open(process)] = process
            stack.callback(os.close, descriptor)
        return watched[wait(list(watched))[0]]


def verdicts(trials: Iterable[tuple[int, Callable[[], int]]], workers: int) -> Iterator[tuple[int, int]]:
    """How each numbered trial ended. `workers` processes run at a time."""
    running: dict[int, int] = {}
    waiting = iter(trials)
    while True:
        for number, trial in waiting:
            running[fork(trial)] = number
            if len(running) >= workers:
                break
        if not running:
            return
        process = first_ended(running)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        yield running.pop(process), code if code >= 0 else CAUGHT


Trials = list[tuple[Mutant | None, Tests]]
"""Without a mutant, nothing is changed."""


def in_loaded_process(trials: Trials, files: Iterable[str], workers: int) -> Iterator[tuple[int, int]]:
    """Number and verdict of each. A fork collects the tests once; forks of it try the mutants in place."""
    told, telling = os.pipe()
    plugin = _Trials(trials, telling, workers)
    process = fork(lambda: pytest.main([*OPTIONS, *QUICK, *files], plugins=[plugin]))
    os.close(telling)
    with os.fdopen(told) as lines:
        for line in lines:
            number, verdict = line.split()
            yield int(number), int(verdict)
    os.waitpid(process, 0)


class _Trials:
    def __init__(self, trials: Trials, telling: int, workers: int) -> None:
        self._trials = trials
        self._telling = telling
        self._workers = workers

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions = in_place.live_functions()
        gc.collect()
        gc.freeze()  # or each fork would copy what its collector looks at
        items = {item.nodeid: item for item in session.items}

        def trial(mutant: Mutant | None, tests: Tests) -> int:
            if mutant is not None:
                try:
                    in_place.change(functions, untouched(mutant.path), mutant.code())
                except in_place.CannotChangeError:
                    return MUST_BE_IMPORTED
            return _run([items[name] for name in tests if name in items], tests)

        numbered = ((number, partial(trial, *one)) for number, one in enumerate(self._trials))
        for number, verdict in verdicts(numbered, self._workers):
            os.write(self._telling, f"{number} {verdict}\n".encode())
        return True


def imported(mutant: Mutant | None, tests: Tests) -> int:
    """Imports everything, the mutant's module in its changed form. This process must not have done so.

    The files of tests that name the module come first: the imports of all others cost more than these tests.
    """
    assert not any(name.partition(".")[0] == "tsproxy" for name in sys.modules)
    files = [*dict.fromkeys(name.partition("::")[0] for name in tests)]
    first = 0
    if mutant is not None:
        sys.meta_path.insert(0, _Changed(mutant))
        module = Path(mutant.path).stem
        named = {file: len(re.findall(rf"\b{module}\b", (ROOT / file).read_text())) for file in files}
        files.sort(key=lambda file: -named[file])
        first = 6
    for some in (files[:first], files[first:]):
        selected = _Selected({name: tests[name] for name in tests if name.partition("::")[0] in some})
        if some:
            pytest.main([*OPTIONS, *QUICK, *some], plugins=[selected])
            if selected.verdict == CAUGHT:
                return CAUGHT
    return SURVIVED


class _Selected:
    """Runs the named tests alone."""

    def __init__(self, tests: Tests) -> None:
        self._tests = tests
        self.verdict = CAUGHT  # where the tests cannot even be collected

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            items = {item.nodeid: item for item in session.items}
            self.verdict = _run([items[name] for name in self._tests if name in items], self._tests)
        return True


def _run(items: list[pytest.Item], seconds: Tests) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    for item, following in zip(items, [*items[1:], None], strict=True):
        bound = 2 + 5 * seconds[item.nodeid]
        signal.setitimer(signal.ITIMER_PROF, bound)
        signal.setitimer(signal.ITIMER_REAL, 60 + 20 * bound)  # for a test that waits; cores are shared
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return CAUGHT
    return SURVIVED


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = mutant.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self._is_package = mutant.path.endswith("__init__.py")
        self._code = mutant.code()

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self._name:
            return None
        spec = importlib.util.spec_from_loader(fullname, self, is_package=self._is_package)
        if self._is_package:
            spec.submodule_search_locations = [os.path.dirname(self._code.co_filename)]
        return spec

    def exec_module(self, module):
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)
        module.__file__ = self._code.co_filename
        exec(self._code, module.__dict__)
