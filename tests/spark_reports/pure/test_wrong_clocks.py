"""The times at which the clock of a proxy was wrong, from its log; test_report.py has a day with one."""

import ast
from pathlib import Path

import pytest

from spark_reports.report import wrong_clocks

PACKAGE = Path(wrong_clocks.__file__).parents[1]


def rows(*facts):
    """Lines of a boot, with these facts."""
    none = dict.fromkeys(("step_ms", "max_offset_ms", "offset_ms", "proven"))
    own = {"proxy": "px", "ts": "2026-11-20T07:00:00.000Z"}
    return [{**own, **none, "boot": boot, "seq": seq, **each} for boot, seq, each in facts]


def test_a_clock_whose_end_the_log_does_not_have_was_wrong_until_its_end():
    beyond = {"what": "beyond", "offset_ms": 9000, "step_ms": 0, "proven": True}
    lines = rows(
        ("a", 1, {"what": "stepped"}),
        *[("b", 5, beyond), ("b", 7, beyond)],
        *[("c", 1, beyond), ("c", 2, {"what": "within", "proven": False})],
        *[("d", 1, {"what": "within", "proven": True}), ("d", 2, {"what": None})],
    )
    [wrong] = wrong_clocks.wrong_times(lines)
    assert (wrong["boot"], wrong["from_seq"], wrong["to_ts"]) == ("b", 5, None)


@pytest.mark.parametrize(
    ("lines", "times"),
    [
        (["stepped", 1200, "within", 1200, "within"], [(0, 2), (3, 4)]),
        (["stepped", 800, "within"], [(1, 2)]),
    ],
    ids=["a clock that hovers about max_offset", "a right step, hours ago"],
)
def test_a_step_begins_one_wrong_time_and_only_if_it_was_too_large(lines, times):
    """Times that overlapped doubled each record, and a small step excused what audit counted for hours."""
    beyond = {"what": "beyond", "offset_ms": 1100, "max_offset_ms": 1000, "proven": True}
    facts = [beyond | ({"step_ms": what} if isinstance(what, int) else {"what": what}) for what in lines]
    wrong = wrong_clocks.wrong_times(rows(*[("b", seq, each) for seq, each in enumerate(facts)]))
    assert [(time["from_seq"], time["to_seq"]) for time in wrong] == times


def test_only_joins_that_are_named_here_could_multiply_lines():
    """test_transforms.py asks that they do not. The join of `gaps` makes no sum."""
    joins = [
        f"{path.relative_to(PACKAGE)}: {'inner' if how is None else how}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"
        for options in [{word.arg: word.value for word in node.keywords}]
        if "on" in options or len(node.args) > 1
        for how in [ast.literal_eval(options["how"]) if "how" in options else None]
        if how not in ("left_semi", "left_anti")
    ]
    assert joins == [
        "log/sequence.py: inner",
        "report/rollup.py: inner",
        *["report/wrong_clocks.py: left"] * 2,
    ]
