"""Runs of bare messages: the same natively and in Python, and what passes them over changes no verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigs.differential.message_sets import Message, wrapper, write_message, write_messages
from tests.policy.verdicts import judged_by
from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS
from tests.wire.readers import reference
from tests.wire.readers.byte_strings import longs
from tsproxy.model.kafka import LONG_MAX, NO_TIMESTAMP, Codec
from tsproxy.model.records import RecordFacts
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import View
from tsproxy.session.produce import bare_messages
from tsproxy.wire import readers
from tsproxy.wire.readers import ANY, Bounds, MessageRun

times = st.sampled_from([NOW_MS, NOW_MS - 1, NOW_MS - 2 * DAY_MS, NOW_MS + 2 * HOUR_MS, -1, -2, 0]) | longs
texts = st.none() | st.binary(max_size=9)
bare = st.builds(
    Message,
    magic=st.sampled_from([1, 1, 1, 0]),
    timestamp_ms=times,
    key=texts,
    value=texts,
    attributes=st.sampled_from([0, 0, 0, 0, 8, 7, 0x10]),
    crc_off=st.sampled_from([0, 0, 0, 0, 1]),
)
odd = st.builds(
    wrapper, st.tuples(bare) | st.tuples(bare, bare), st.just(Codec.GZIP), attributes=st.sampled_from([0, 8])
)
sets = st.lists(st.one_of(bare, bare, bare, odd), max_size=7)
endings = st.binary(max_size=30)
bounds = st.builds(
    Bounds,
    lowest_ms=times,
    highest_ms=times,
    largest=st.integers(20, 60) | st.just(LONG_MAX),
    needs_key=st.booleans(),
)


@given(
    data=st.builds(lambda messages, end: write_messages(messages) + end, sets, endings) | st.binary(),
    start=st.integers(-3, 200),
    magic=st.integers(0, 2),
    bounds=st.just(ANY) | bounds,
)
def test_any_bytes_give_the_run_that_the_python_version_finds(data, start, magic, bounds):
    expected = reference.messages(data, start, magic, bounds)
    assert readers.messages(memoryview(data), start, magic, bounds) == expected


def test_a_run_ends_before_the_first_message_that_is_odd():
    plain = [Message(1, NOW_MS + n) for n in range(3)] + [Message(1, NO_TIMESTAMP, None, None)]
    odd_ones = {
        "another magic": Message(0),
        "a bit": Message(1, NOW_MS, attributes=8),
        "compressed": Message(1, NOW_MS, attributes=1),
        "its checksum": Message(1, NOW_MS, crc_off=1),
        "cut short": Message(1, NOW_MS, size_off=1),
    }
    for what, last in odd_ones.items():
        data = write_messages([*plain, last])
        run = readers.messages(data, 0, 1, ANY)
        assert run == MessageRun(len(write_messages(plain)), RecordFacts(4, NOW_MS, NOW_MS + 2, 1)), what


def passes_over_nothing(_data, start, _magic, _bounds=ANY):
    return MessageRun(start, RecordFacts(0, None, None, 0))


LIMITS = TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS)
some_limits = st.sampled_from(
    [
        None,
        TopicLimits(),
        LIMITS,
        TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS, is_compacted=True),
        TopicLimits(before_max_ms=DAY_MS, codec=Codec.NONE),
        TopicLimits(after_max_ms=HOUR_MS, codec=Codec.LZ4),
        TopicLimits(after_max_ms=HOUR_MS, max_message_bytes=40),
    ]
)


def judged(data, limits, version):
    view = View(topics={} if limits is None else {"t": limits})
    (found,) = judged_by(view, data, version=version)
    return found.verdict, found.batch, found.has_header_mismatch, found.would


@given(messages=sets, ending=endings, limits=some_limits, version=st.sampled_from([0, 2, 2, 3]))
def test_what_is_passed_over_changes_no_verdict_and_no_count(messages, ending, limits, version):
    data = write_messages(messages) + ending
    found = judged(data, limits, version)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "messages", passes_over_nothing)
        assert judged(data, limits, version) == found


def test_a_set_of_very_many_messages_makes_no_case_of_each(monkeypatch):
    """Finding 3: 100 MiB of bare messages took a judge 240 s, with an object for each."""
    begun = []
    monkeypatch.setattr(bare_messages.record_set, "batch_at", lambda *_: begun.append(1), raising=True)
    judged(write_message(Message(1, NOW_MS)) * 10_000, LIMITS, 2)
    assert len(begun) < 10


def test_a_set_whose_messages_are_all_too_old_makes_few_cases(monkeypatch):
    begun, batch_at = [], bare_messages.record_set.batch_at
    monkeypatch.setattr(
        bare_messages.record_set, "batch_at", lambda *given: begun.append(1) or batch_at(*given)
    )
    verdict, facts, *_ = judged(write_message(Message(1, NOW_MS - 2 * DAY_MS)) * 10_000, LIMITS, 2)
    assert verdict.error_code == 32
    assert facts.records == 10_000
    assert len(begun) < 20
