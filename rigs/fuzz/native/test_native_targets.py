"""The targets in C are built, and hold for their seeds and for a thousand inputs more."""

import pytest

from rigs.fuzz.native import build
from rigs.fuzz.native.seeds import NATIVE
from rigs.fuzz.runs import fuzz

pytestmark = [
    pytest.mark.skipif(build.clang() is None, reason=build.MISSING),
    pytest.mark.full_only(
        "clang takes a minute to build; rigs/fuzz has the seeds for the code as it is installed"
    ),
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]


@pytest.mark.parametrize("name", NATIVE)
def test_a_target_holds_for_its_seeds_and_a_thousand_inputs_more(name, tmp_path):
    run = fuzz(name, 1, inputs=len(list(NATIVE[name].seeds())) + 1000, folder=tmp_path)
    assert not run.has_failed, run.said
    assert run.inputs >= 1000
    assert run.costs["most_edges"] > 0
