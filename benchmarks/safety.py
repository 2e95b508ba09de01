"""Whether the native code stays inside its memory: the fuzz corpus, under two sanitizers."""

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
    """What the sanitizers said; a byte read or written outside is a failure, not a figure."""
    find("gcc")
    root = Path(__file__).parents[1]
    seeds = str(bench.effort.safety_seeds)
    command = (
        *("env", f"PYTHONPATH={root}", sys.executable),
        *("-m", "tests.kernel.memory_safety", "--seeds", seeds),
    )
    found = _SAID.search(output := bench.workshop.output("memory safety", command))
    if found is None:
        raise ProgramError(f"the sanitizers said no result: {output[-500:]}")
    conversations, record_sets, seconds, outcome = found.groups()
    return Section(
        text="The native kernel and pipe, built with AddressSanitizer and UndefinedBehaviorSanitizer, read "
        "what the tests draw, each input in memory that ends exactly where its bytes end. The twin in Python "
        "reads along and must come to the same. One byte read or written outside would end the run.",
        head=("conversations", "record sets", "seconds", "outcome"),
        rows=[(conversations, record_sets, seconds, outcome)],
    )
