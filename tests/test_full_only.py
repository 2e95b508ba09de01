"""Tests of `make test-full` are left out of other runs, and the summary says how many."""

from types import SimpleNamespace

import pytest

from tests import full_only


def an_item(name, *markers):
    return SimpleNamespace(nodeid=name, iter_markers=lambda wanted: [m for m in markers if m.name == wanted])


def a_run():
    left_out = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    return SimpleNamespace(stash=pytest.Stash(), hook=hook, left_out=left_out)


STAYS = an_item("stays", pytest.mark.broker.mark)
VARIES = an_item(
    "varies", pytest.mark.full_only("stays has it").mark, pytest.mark.full_only("as a file").mark
)


def test_any_run_but_the_full_one_leaves_out_what_is_marked_and_says_how_many(monkeypatch):
    monkeypatch.setattr(full_only, "IS_FULL", False)
    run, items = a_run(), [VARIES, STAYS]
    full_only.leave_out(run, items)
    assert (items, run.left_out) == ([STAYS], [VARIES])
    assert full_only.summary(run) == "1 tests are left to `make test-full`: each varies another test"


def test_the_full_run_has_them_all(monkeypatch):
    monkeypatch.setattr(full_only, "IS_FULL", True)
    run, items = a_run(), [VARIES, STAYS]
    full_only.leave_out(run, items)
    assert items == [VARIES, STAYS]
    assert full_only.summary(run) is None


@pytest.mark.parametrize("marker", [pytest.mark.full_only, pytest.mark.full_only()])
def test_a_marker_without_a_reason_ends_the_run(marker):
    with pytest.raises(pytest.UsageError, match="needs the reason"):
        full_only.leave_out(a_run(), [an_item("varies", marker.mark)])


def test_the_process_that_gives_out_the_tests_hears_the_number(monkeypatch):
    monkeypatch.setattr(full_only, "IS_FULL", False)
    process, giver = a_run(), a_run()
    process.workeroutput = {}
    full_only.leave_out(process, [VARIES])
    full_only.tell(process)
    full_only.hear(giver, process.workeroutput)
    full_only.hear(giver, {})  # a process that crashed
    assert full_only.summary(giver) == full_only.summary(process)


def test_the_values_that_stay_are_no_variations():
    stays, varies = full_only.variations("gzip has it", ["gzip", "zstd"], but=["gzip"])
    assert stays == "gzip"
    assert varies.values == ("zstd",)
    assert [each.args for each in varies.marks] == [("gzip has it",)]
