"""Memory that a batch needed stays for the next one: fresh memory costs a page fault every 4 KiB."""

import subprocess
import sys

import pytest

FAULTS = """
import random, resource, sys
import lz4.frame
from tsproxy.proxy.malloc import keep_freed_memory
from tsproxy.wire import one_shot

if sys.argv[1] == "kept":
    keep_freed_memory()
batch = lz4.frame.compress(random.Random(0).randbytes(40_000) * 25, block_linked=False)
read = lambda: one_shot.decompressed(3, batch, 1 << 20, 8 << 20)
assert len(read()) == len(read()) == 1_000_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    read()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "is_kept"), [("kept", True), ("given back", False)])
def test_a_batch_of_a_megabyte_costs_no_page_faults(memory, is_kept):
    """Fewer than a hundred in fifty batches may be Python's own."""
    told = subprocess.run([sys.executable, "-c", FAULTS, memory], capture_output=True, check=True, text=True)
    assert (int(told.stdout) < 100) == is_kept
