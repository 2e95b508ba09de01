"""Texts that count as the same as the page, and texts that do not."""

import pytest

from tests.documents.seen import is_shown, lines_of

PAGE = ["cluster dqdgg9B3N7zuFRg0_jTFYw at 2026-11-22 22:51:50 UTC", "3 of 4 topics, in 40 ms"]


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        (PAGE, ["cluster AAdgg9B3N7zuFRg0_jTFYw at 2027-01-01 00:00:00 UTC", "3 of 4 topics,  in 1.5 s"]),
        (["a", "…", "d"], ["a", "d"]),
        (["a", "…", "d"], ["a", "b", "c", "d"]),
        (["…"], []),
        (['"ts": …, "a"'], ['"ts": 12, "a"']),
        (["at 09:15"], ["at 10:16:17"]),
        (["[1795387916, 1795387916000]"], ["[1795387917, 1795387918001]"]),
        (["plain"], ["\x1b[1mplain\x1b[0m"]),
    ],
)
def test_it_is_the_same(page, seen):
    assert is_shown(seen, page)


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        (PAGE, [PAGE[0], "2 of 4 topics, in 40 ms"]),
        (PAGE, PAGE[:1]),
        (["a", "b"], ["a", "b", "c"]),
        (["a", "b"], ["a", "x", "b"]),
        (["a", "…", "d"], ["a", "d", "e"]),
        ([], ["a"]),
        (["…b"], ["abc"]),
        (["… left out"], ["left out"]),
        (["port 127.0.0.1:9092"], ["port 127.0.0.1:9093"]),
        (["1 rejected"], ["2 rejected"]),
        (["a.c"], ["abc"]),
    ],
)
def test_it_is_not_the_same(page, seen):
    assert not is_shown(seen, page)


def test_more_may_follow_where_a_command_goes_on():
    assert is_shown(["a", "b"], ["a"], goes_on=True)
    assert not is_shown(["b", "a"], ["a"], goes_on=True)


def test_a_carriage_return_begins_a_line_again():
    assert lines_of("10%\r20%\r100%\r\ndone\r\n\r\n") == ["100%", "done"]
