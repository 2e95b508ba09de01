"""Memory safety of the native code: the fuzz corpus, under two sanitizers."""

import re
import sys
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench
from benchmarks.processes import ProgramError
from benchmarks.sections import Section
from benchmarks.tools import find

_SAID: Final = re.compile(r"^(\d+) conversations.* and (\d+) record sets in (\d+) s: (.+)$", re.MULTILINE)


def safety(bench: Bench) -> Section:
    """The result of the sanitizers. A byte read or written outside is a failure, not a figure."""
    find("gcc")
    root = Path(__file__).parents[1]
    seeds = str(bench.effort.safety_seeds)
    command = (
        *("env", f"PYTHONPATH={root}", sys.executable),
        *("-m", "tests.fastpath.memory_safety", "--seeds", seeds),
    )
    found = _SAID.search(output := bench.workshop.output("memory safety", command))
    if found is None:
        raise ProgramError(f"the sanitizers said no result: {output[-500:]}")
    conversations, record_sets, seconds, outcome = found.groups()
    return Section(
        text="AddressSanitizer and UndefinedBehaviorSanitizer check the native code. It reads generated "
        "inputs, each in memory that ends exactly where its bytes end. The readers in Python, and a session "
        "without the fast path, must return the same results. One byte read or written outside would end "
        "the run.",
        head=("conversations", "record sets", "seconds", "outcome"),
        rows=[(conversations, record_sets, seconds, outcome)],
    )
