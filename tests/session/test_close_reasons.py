"""docs/evidence/transparency.md has a row for each reason to close a connection (`table`)."""

import pytest

from tsproxy.proxy.connections.reasons import ProxyReason
from tsproxy.proxy.limits.limit import Limit
from tsproxy.session.effects import CloseReason, ReasonToClose

REASONS = [reason for kind in (CloseReason, ProxyReason, Limit) for reason in kind]


def table():
    rows = [f"| `{each}` | {each.cause} | {each.lost} | {each.no_answer} |" for each in REASONS]
    head = ["| reason | what happened | without an answer | why no answer |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows])


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_says_who_loses_what_and_why(reason):
    assert reason.cause.endswith(".")
    assert reason.lost
    assert reason.no_answer.endswith(".")
    assert str(reason) == reason.value


def test_the_table_has_each_kind_of_reason():
    assert len({*REASONS}) == sum(map(len, ReasonToClose.__subclasses__()))
