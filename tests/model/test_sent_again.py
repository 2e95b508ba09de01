"""The table of codes after which producers send again is that of Kafka's own classes."""

import pytest

from tests.full_only import variations
from tests.wire.release import facts_of
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.sent_again import RETRIABLE
from tsproxy.testing.jars import fetch_kafka_jars

pytestmark = pytest.mark.broker  # for its jars

NEWEST, *_ = RELEASES = ("4.4.0", "4.3.1", "3.9.1")


@pytest.fixture(scope="module", params=variations("no code changed its class or name", RELEASES, [NEWEST]))
def codes(request):
    """code -> (name, is a RetriableException), as the classes of that version have it."""
    return facts_of(fetch_kafka_jars(request.param)).errors


def test_every_code_is_retriable_here_where_it_is_in_kafka(codes):
    """`Sender.canRetry`: `response.error.exception() instanceof RetriableException`."""
    assert len(codes) > 100
    assert {code: code in RETRIABLE for code in codes} == {code: said for code, (_, said) in codes.items()}


def test_every_code_has_kafkas_name(codes):
    named = {int(code): code.name for code in ErrorCode}
    assert {code: name for code, (name, _) in codes.items()}.items() <= named.items()


@pytest.mark.parametrize("codes", [NEWEST], indirect=True)
def test_every_code_of_the_newest_kafka_has_a_name_and_no_other_has(codes):
    assert {int(code) for code in ErrorCode} == codes.keys()
