"""docs/evidence/transparency.md has a row for each reason to close a connection."""

from tests.documents.tables import rows_of
from tsproxy.proxy.connections.reasons import ProxyReason
from tsproxy.proxy.limits.limit import Limit
from tsproxy.session.effects import CloseReason, ReasonToClose

REASONS = [reason for kind in (CloseReason, ProxyReason, Limit) for reason in kind]


def test_the_page_says_who_loses_what_and_why_once_for_each_reason():
    rows = rows_of(
        "evidence/transparency.md", "reason", "what happened", "without an answer", "why no answer"
    )
    assert sorted(reason for reason, *_ in rows) == sorted(f"`{reason}`" for reason in REASONS)
    assert [row for row in rows if not all(row)] == []


def test_each_kind_of_reason_is_compared():
    assert len({*REASONS}) == sum(map(len, ReasonToClose.__subclasses__()))
