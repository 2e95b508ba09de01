"""The queue of requests in flight keeps little memory once these are answered, or were not forwarded."""

import tracemalloc

import pytest

from tests.fastpath.test_filters import Filters
from tests.session.conversation import NOW_MS
from tests.session.messages import produce, produced
from tests.wire.batches import batch

KEPT_BYTES = 100_000
GOOD = batch([NOW_MS], key=None, value=None)


def of_partitions(count, topics=("t",)):
    return produce({topic: dict.fromkeys(range(count), GOOD) for topic in topics})


@pytest.fixture
def filters():
    return Filters(produce_frame=10**8)


def growth(act):
    """How many bytes more are allocated after it, and were at most during it."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


def test_what_many_partitions_took_is_free_again_when_they_are_answered(filters):
    asked, said = of_partitions(20_000), produced({"t": {n: {} for n in range(20_000)}})

    def answered():
        assert filters.passes(asked) == len(asked)
        assert filters.accepts(said) == len(said)

    kept, _ = growth(answered)
    assert kept < KEPT_BYTES


@pytest.mark.parametrize(
    ("asked", "bound"),
    [(of_partitions(100_000), KEPT_BYTES), (of_partitions(15_000, ("t", "u")), 4_000_000)],
    ids=["of one topic", "of two"],
)
def test_a_request_of_too_many_partitions_takes_no_memory_for_all_of_them(filters, asked, bound):
    kept, most = growth(lambda: filters.passes(asked))
    assert filters.passes(asked) == 0
    assert kept < KEPT_BYTES
    assert most < bound
