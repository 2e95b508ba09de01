"""A line that is not what its kind must be is found before anything of it is used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decisions.lines import whole
from tests.decisions.test_golden import LOGS, lines_of
from tsproxy.decisions.conformity import fault
from tsproxy.decisions.fields import FIELDS, EventName
from tsproxy.offline.decision_lines import in_words

GOLDEN = [line for name in LOGS for line in lines_of(name)]
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8),
    st.sampled_from(["", "2026-13-45T99:00:00.000Z", "2026-11-20T11:20:06.158Z", "LogAppendTime",
    "drift-v1"]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner,
    max_size=3)), max_leaves=6,
)  # fmt: skip


def test_every_line_that_was_ever_written_is_whole():
    assert [line for line in GOLDEN if fault(line)] == []


@pytest.mark.parametrize("event", EventName)
def test_what_a_line_of_its_kind_must_have_may_not_be_missing_null_or_of_another_type(event):
    for field in FIELDS:
        line = whole(event)
        if event in field.always and field.name not in ("event", "v"):
            assert fault({**line, field.name: None}) == f"{field.name} is missing"
            assert fault({name: value for name, value in line.items() if name != field.name})
        if event in field.events:
            for wrong in (float("nan"), {"a": [None]}, [[]], -(2**63) - 1):
                if fault({**line, field.name: wrong}) is None:
                    assert isinstance(wrong, dict)
                    assert field.name == "facts"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"records": "1"}, "records must be an int"),
        ({"records": -1}, "records must not be negative"),
        ({"records": True}, "records must be an int"),
        ({"interval_start": "2026-02-30T00:00:00.000Z"}, "interval_start must be an instant"),
        ({"ahead": [[1, 2]]}, "ahead must be a list of [bucket, batches, records]"),
        ({"ahead": [[-9_999, 1, 1]]}, "ahead must be a list of"),
        ({"behind": [[1, -1, 1]]}, "behind must be a list of"),
        ({"addresses": [None]}, "addresses must be a list of texts"),
        ({"v": 2}, "has a later version of the schema than 1"),
        ({"v": None}, "v must be an int"),
        ({"event": ["counters"]}, "event must be a text"),
    ],
)
def test_the_fault_is_named_and_no_value_repeated(fields, said):
    assert fault({**whole(EventName.COUNTERS), **fields}).startswith(said)


def test_what_newer_proxies_write_is_no_fault():
    assert fault(whole(EventName.COUNTERS, reason="of the future", something=[1])) is None
    assert fault({"v": 1, "event": "of the future"}) is None


@given(
    line=st.sampled_from(GOLDEN),
    changes=st.dictionaries(st.sampled_from([f.name for f in FIELDS]), values, max_size=3),
)
def test_no_line_ends_a_command(line, changes):
    """Either it has a fault, or it can be shown."""
    changed = {**line, **changes}
    if fault(changed) is None:
        assert in_words(changed).isprintable()
