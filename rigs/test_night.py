"""The short form of `make night`: one broker, and the steps that need no second cluster and no clock."""

import pytest

from rigs.night import broken, played

STEP = {"forbidden": 0, "rejected": 0, "unready_s": 0, "named": None}
WELL = dict.fromkeys(("lost", "doubled", "torn", "unnamed", "forbidden"), 0) | {"steps": {"roll": STEP}}


@pytest.mark.broker
@pytest.mark.timeout(600)
async def test_a_short_night_keeps_its_bounds(tmp_path):
    figures = await played(tmp_path, ["kill", "rotate", "widen"], nodes=1)
    assert broken(figures) == []
    assert min(figures["sent"].values()) > 0
    assert figures["acknowledged"]["bad"] == 0


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, []),
        *(({name: 1}, [name]) for name in WELL if name != "steps"),
        ({"steps": {"roll": STEP | {"rejected": 1}}}, ["roll: rejected"]),
        ({"steps": {"roll": STEP | {"unready_s": 0.2}}}, ["roll: unready_s"]),
        ({"forbidden": 1, "steps": {"ahead-2h": STEP | {"forbidden": 1, "named": "clock_x"}}}, []),
    ],
)
def test_each_bound_is_broken_by_its_figure(changed, found):
    assert broken(WELL | changed) == found
