"""One mutant's trial, in a process of its own: `start`.

The process is a fork that has pytest and all the libraries loaded already. It forgets this project's
modules and imports them anew, the mutant's in its changed form: nothing is written to the tree.
"""

import importlib.abc
import importlib.util
import os
import resource
import sys
from pathlib import Path

import aiokafka  # noqa: F401 # loaded once for all trials
import confluent_kafka  # noqa: F401 # likewise
import pytest
from hypothesis import Phase, settings

from tests.mutation import replay
from tests.mutation.mutants import Mutant

_RULES = ("tests/verdicts/test_rows.py", "tests/policy/test_judge.py")
_RULES_OF_OURS = ("tests/policy/test_resolve.py", "tests/session/test_policy.py")
_FAST_PATH = (
    "tests/policy/test_fast_path_bounds.py",
    "tests/policy/test_repeatable_rejections.py",
    "tests/policy/test_checks.py",
)
_REPAIR = ("tests/session/test_repair.py",)
_READERS = ("tests/wire/test_record_batch.py", "tests/wire/test_record_batch_faults.py")
_SESSION = (
    "tests/policy/test_facts.py",
    "tests/session/test_produce.py",
    "tests/session/test_produce_split.py",
)
_REST_OF_A_VERDICT = (
    "tests/session/test_extended.py",
    "tests/session/test_dead_letters.py",
    "tests/session/test_stream_times.py",
    "tests/session/test_topic_ids.py",
)
MODULES = {
    "policy/timestamps.py": ("tests/policy/test_timestamps.py",),
    "policy/judge.py": (*_RULES, "tests/policy/test_checks.py"),
    "policy/context.py": _RULES,
    "policy/checks/check.py": _FAST_PATH,
    "policy/checks/request.py": _RULES,
    "policy/checks/whole_request.py": _RULES,
    "policy/checks/batch.py": _RULES,
    "policy/checks/record.py": (*_RULES, "tests/policy/test_checks.py"),
    "policy/checks/faults.py": _RULES,
    "policy/checks/custom.py": ("tests/policy/test_custom_rules.py",),
    "policy/custom_rules.py": ("tests/policy/test_custom_rules.py",),
    "policy/units.py": ("tests/policy/test_units.py",),
    "model/units.py": ("tests/policy/test_units.py",),
    "policy/special_timestamps.py": _RULES_OF_OURS,
    "policy/candidate.py": _RULES_OF_OURS,
    "policy/fast_path.py": _FAST_PATH,
    "policy/resolve.py": _RULES_OF_OURS,
    "policy/extended.py": ("tests/session/test_extended.py",),
    "policy/stream_time.py": ("tests/policy/test_stream_time.py",),
    "policy/ineffective_rules.py": ("tests/policy/test_ineffective_rules.py",),
    "policy/repair.py": _REPAIR,
    "policy/batch_of_times.py": ("tests/offline/test_explain.py",),
    "policy/explain.py": ("tests/policy/test_explain.py", "tests/offline/test_explain.py"),
    "policy/broker_reasons.py": ("tests/verdicts/test_broker_reasons.py",),
    "wire/k00_produce.py": (
        "tests/wire/test_k00_produce.py",
        "tests/session/test_named_twice.py",
        "tests/session/test_long_answers.py",
        "tests/differential/test_intended.py",
    ),
    "wire/record_set.py": ("tests/wire/test_record_set.py", "tests/wire/test_scan.py"),
    "wire/record_batch.py": _READERS,
    "wire/records.py": _READERS,
    "wire/message_set.py": ("tests/wire/test_message_set.py",),
    "session/produce/verdicts.py": (*_SESSION, *_REPAIR, *_REST_OF_A_VERDICT),
    "session/produce/context.py": (*_SESSION, *_REPAIR, *_REST_OF_A_VERDICT, "tests/session/test_budget.py"),
}
"""Each with the tests that most often turn red, which are asked first; what they pass meets all."""

TESTS = (
    "tests/wire/test_record_set.py",
    "tests/wire/test_scan.py",
    "tests/wire/test_message_set.py",
    "tests/session/test_produce.py",
    "tests/session/test_produce_split.py",
    "tests/session/test_policy.py",
    "tests/session/test_repair.py",
    "tests/verdicts",
    "tests/policy",
    "tests/wire/readers/test_walk.py",
    "tests/wire/readers/test_culprits.py",
    "tests/wire/test_codecs.py",
    "tests/wire/test_one_shot.py",
    "tests/wire/readers/test_stream.py",
    "tests/wire/test_record_batch.py",
    "tests/wire/test_record_batch_faults.py",
)
"""The quick ones first."""

OPTIONS = ("-x", "-q", "-m", "not broker", "-p", "no:cacheprovider", "--timeout=0", "--hypothesis-seed=0")
SECONDS = 120
"""CPU time that a trial may take. Wall time does not count, because other work may slow it down."""
MEMORY_BYTES = 4 << 30
"""A mutant that reads for ever, or all there is, ends at these."""

settings.register_profile(
    "mutation", max_examples=100, deadline=None, database=None, phases=[Phase.explicit, Phase.generate]
)
"""Red is enough: no time is spent on the smallest example of it."""
os.environ["TSPROXY_TEST"] = "mutation"


def start(mutant: Mutant, recorded: Path) -> int:
    """The id of a new process, which ends with 0 where the mutant survives."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            status = 0 if _survives(mutant, recorded) else 1
        finally:
            os._exit(status)
    return process


def _survives(mutant: Mutant, recorded: Path) -> bool:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silent, stream)
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("tests", "tsproxy"):
            del sys.modules[name]
    sys.meta_path.insert(0, _Changed(mutant))
    return (
        pytest.main([*OPTIONS, *MODULES[mutant.path]]) == pytest.ExitCode.OK
        and importlib.import_module(replay.__name__).main(recorded) == 0
        and pytest.main([*OPTIONS, *TESTS]) == pytest.ExitCode.OK
    )


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = "tsproxy." + mutant.path.removesuffix(".py").replace("/", ".")
        self._code = compile(mutant.source, mutant.path, "exec")

    def find_spec(self, fullname, path=None, target=None):
        return importlib.util.spec_from_loader(fullname, self) if fullname == self._name else None

    def exec_module(self, module):
        exec(self._code, module.__dict__)
