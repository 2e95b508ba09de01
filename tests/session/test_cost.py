"""The possible cost of a request decides where it is judged."""

import pytest

from tests.session.conversation import NOW_MS
from tests.wire.batches import GZIP, NONE, batch
from tsproxy.model.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tsproxy.session.produce import cost
from tsproxy.wire import k00_produce
from tsproxy.wire.headers import RequestHeader
from tsproxy.wire.record_set import MAGIC_OFFSET

PACKED, PLAIN = batch([NOW_MS], GZIP), batch([NOW_MS], NONE)


def header(version):
    return RequestHeader(0, version, 1, "app", 0)


def asking(*sets):
    """A request with these records in its partitions."""
    partitions = (PartitionProduceData(n, s and memoryview(s)) for n, s in enumerate(sets))
    return ProduceRequest(None, -1, 30_000, (TopicProduceData("t", tuple(partitions)),))


def long(records, size):
    """The first batch stays as it is."""
    return records + bytes(size - len(records))


COSTS = {
    "by the counts that batches state": (9, [batch([NOW_MS]), batch([NOW_MS] * 3)], 2 * 20 + 4),
    "null records cost their partition": (9, [None], 20),
    "no less than nothing": (9, [batch([NOW_MS], records_count=-5), batch([NOW_MS] * 2)], 2 * 20 + 2),
    "by size below v3": (2, [bytes(100)], 20 + 30 * 100),
    "by size where a message of old magic stands": (9, [bytes(MAGIC_OFFSET) + b"\x01"], 20 + 30 * 17),
    "marked as the broker's time": (9, [batch([NOW_MS] * 3, attributes=8)], 20 + 3 * cost.A_MARKED_RECORD),
    "magic 2 is not old": (9, [bytes(MAGIC_OFFSET) + b"\x02"], 20),
    "no magic": (9, [bytes(MAGIC_OFFSET)], 20),
}


@pytest.mark.parametrize(("version", "sets", "most"), COSTS.values(), ids=COSTS)
def test_so_many_records_a_request_may_cost(version, sets, most):
    assert cost.records_at_most(header(version), asking(*sets)) == most


HALF = cost.OFFLOAD_BYTES // 2
OFFLOADED = {
    "just enough": (3, [long(PACKED, 2 * HALF)], True),
    "one byte less": (3, [long(PACKED, 2 * HALF - 1)], False),
    "in several partitions": (3, [long(PACKED, HALF), None, long(PACKED, HALF)], True),
    "half of it is not compressed": (3, [long(PACKED, HALF), long(PLAIN, HALF)], False),
    "nothing is compressed": (3, [long(PLAIN, 2 * HALF)], False),
    "below v3 a later batch may be": (2, [long(PLAIN, 2 * HALF)], True),
    "there is no batch": (3, [bytes(2 * HALF)], False),
}


@pytest.mark.parametrize(("version", "sets", "is_offloaded"), OFFLOADED.values(), ids=OFFLOADED)
def test_a_thread_judges_where_much_may_have_to_be_decompressed(version, sets, is_offloaded):
    assert cost.must_offload(header(version), asking(*sets)) is is_offloaded


@pytest.mark.parametrize(
    ("size", "most"), [(0, 16), (63, 16), (64, 17), (64 * 1984, 2_000), (1 << 20, 2_000)]
)
def test_so_many_partitions_are_read_on_the_loop(size, most):
    assert cost.most_partitions_here(size) == most


def test_partitions_beyond_a_few_are_counted_while_they_are_judged():
    assert cost.kept_while_judged(100, 16) == 100
    assert cost.kept_while_judged(100, 18) == 100 + 2 * (5 << 10)


def test_a_request_that_nobody_has_read_counts_as_many_partitions_as_fit_into_it():
    assert cost.kept_while_judged(6_000, None) == cost.kept_while_judged(
        6_000, 6_000 // k00_produce.SMALLEST_PARTITION
    )
    huge = 100 << 20
    assert cost.kept_while_judged(huge, None) == cost.kept_while_judged(huge, k00_produce.MAX_PARTITIONS)
