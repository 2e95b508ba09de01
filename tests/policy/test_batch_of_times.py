"""A batch that nobody sends is judged as one would be that a client sends with these timestamps."""

from dataclasses import fields, replace

import pytest

from tests.session.conversation import NOW_MS, PEER
from tests.wire.batches import batch
from tsproxy.model.policy import TopicPolicy
from tsproxy.policy.batch_of_times import batch_of_times
from tsproxy.policy.context import BatchContext
from tsproxy.wire import record_set


@pytest.mark.parametrize("times", [[NOW_MS], [NOW_MS, -1, NOW_MS + 5]])
def test_its_header_is_that_of_a_batch_with_these_times(times):
    context = batch_of_times(times, "t", 0, PEER, policy=TopicPolicy(), now_ms=NOW_MS)
    (sent,) = record_set.scan(memoryview(batch(times)), 2, to_the_end=False).batches
    unlike = {"size_in_bytes": 0, "crc": 0, "data": memoryview(b"")}
    assert replace(context.batch, **unlike) == replace(sent, **unlike)
    assert context.facts.records == len(times)
    assert context.facts.fault is None


def test_a_context_that_lists_fewer_culprits_is_otherwise_the_same():
    names = [each.name for each in fields(BatchContext)]
    context = BatchContext(**{name: object() for name in names})
    listing = context.listing(7)
    changed = [name for name in names if getattr(listing, name) is not getattr(context, name)]
    assert changed == ["culprits_listed"]
