"""`no_timestamp: stamp`: a record without a timestamp is stamped or rejected, and never stored as it came."""

from dataclasses import replace

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.verdicts import judged_by
from tests.session.conversation import DAY_MS, LIMITS, NOW_MS, view_by
from tests.verdicts.rows import legacy
from tests.wire.batches import COMPRESS, GZIP, LZ4, SNAPPY, ZSTD, batch, record, wrap
from tsproxy.model.kafka import TimestampType
from tsproxy.model.policy import Choice, Match, Mode, OnViolation, Waiver
from tsproxy.model.records import Fault
from tsproxy.model.verdict import Accept, Reason, Reject, TopicLimits
from tsproxy.model.view import SessionLimits
from tsproxy.policy.checks.faults import OUR_LIMITS
from tsproxy.session.produce import judge_partitions
from tsproxy.wire import message_set, record_batch, record_set

OLD_MS, ZERO_MS = NOW_MS - 2 * DAY_MS, 0
TIMES = st.lists(st.sampled_from([-1, NOW_MS, NOW_MS - 1, OLD_MS, ZERO_MS]), min_size=1, max_size=4)
CODECS = st.sampled_from([GZIP, SNAPPY, LZ4])
TAILS = st.sampled_from([b"", b"x", b"x" * 5, b"x" * 11, batch([-1])[:40]])
LIMITED = st.sampled_from([LIMITS, TopicLimits(), None, replace(LIMITS, codec=ZSTD)])
MORE = st.fixed_dictionaries(
    {
        "keep_both_times": st.booleans(),
        "keep_original_time": st.booleans(),
        "on_violation": st.sampled_from(OnViolation),
    }
)
VERSIONS = st.sampled_from([2, 3, 9])
BOUNDS = SessionLimits()
APPEND_TIME = replace(LIMITS, timestamp_type=TimestampType.LOG_APPEND_TIME)


def odd(times, codec, length=20):
    """A batch whose records declare a wrong length. Brokers do not look at it in compressed batches."""
    records = [record(wrap(t - times[0]), at, length=length) for at, t in enumerate(times)]
    return batch(times, codec, records=records)


def stored(data):
    """The timestamps that a broker would store. It stores all batches of the set."""
    found = record_set.scan(memoryview(data), 9).batches
    readers = (message_set.read_messages, message_set.read_messages, record_batch.read_records)
    return [t for one in found for t in readers[one.magic](one, BOUNDS).timestamps_ms]


def judged(data, version=9, bounds=BOUNDS, limits=LIMITS, waivers=(), **settings):
    """The verdict, and what reaches the broker."""
    view = view_by("stamps", limits=limits or LIMITS, waivers=waivers, **settings)
    view = replace(view, limits=bounds, topics=view.topics if limits else {})
    (found,) = judged_by(view, data, version=version)
    accepted = isinstance(found.verdict, Accept)
    return found, (found.rewritten.records if found.rewritten else data) if accepted else None


SETS = st.one_of(
    st.builds(
        lambda times, codec, tail: batch(times, codec) + tail, TIMES, st.sampled_from(list(COMPRESS)), TAILS
    ),
    st.builds(odd, TIMES, CODECS | st.just(ZSTD)),
    st.builds(lambda times, crc: batch(times, crc=crc), TIMES, st.just(1)),
    st.builds(lambda times, others: batch(times) + batch(others), TIMES, TIMES),
    st.builds(lambda times, magic: b"".join(legacy(magic, 0)(t) for t in times), TIMES, st.integers(0, 1)),
    st.builds(lambda t, codec: legacy(1, 0, codec=codec)(t), st.sampled_from([-1, NOW_MS]), CODECS),
)


@given(data=SETS, version=VERSIONS, limits=LIMITED, more=MORE)
def test_no_record_without_a_timestamp_reaches_a_broker(data, version, limits, more):
    found, goes = judged(data, version, limits=limits, no_timestamp=Choice.STAMP, **more)

    if goes is not None:
        assert -1 not in stored(goes)
    else:
        assert found.verdict.error_message or found.verdict.detail


@given(data=SETS, version=VERSIONS, limits=LIMITED, more=MORE)
def test_a_batch_whose_records_all_have_timestamps_is_judged_as_without_the_rule(data, version, limits, more):
    """But for sets that every broker rejects: a second batch is not read."""
    if -1 in stored(data) or (version > 2 and len(record_set.scan(memoryview(data), 2).batches) > 1):
        return
    stamped, goes = judged(data, version, limits=limits, no_timestamp=Choice.STAMP, **more)
    without, would_go = judged(data, version, limits=limits, **more)

    assert goes == would_go
    assert goes is not None or stamped.verdict.error_code == without.verdict.error_code


@given(data=SETS, version=VERSIONS, rule=st.sampled_from(["audit", "off", "waived", "append"]))
def test_where_nothing_is_stamped_nothing_is_rejected_for_it(data, version, rule):
    """A broker with LogAppendTime has its own time for each record."""
    waiver = Waiver("w", Match(), NOW_MS + 1, "owner", "reason")
    settings = {
        "audit": {"mode": Mode.AUDIT},
        "off": {"mode": Mode.OFF},
        "waived": {"waivers": (waiver,)},
        "append": {"limits": APPEND_TIME},
    }[rule]
    (found, goes), (_, would_go) = (
        judged(data, version, **settings, no_timestamp=choice) for choice in (Choice.STAMP, None)
    )
    assert goes == would_go
    assert found.rewritten is None


UNREAD = {
    Fault.DECOMPRESSED_TOO_LARGE: SessionLimits(decompressed_batch=1, zstd_window=1 << 24),
    Fault.TOO_MANY_RECORDS: SessionLimits(records_per_batch=0),
    Fault.ZSTD_WINDOW_TOO_LARGE: BOUNDS,
    Fault.REQUEST_TOO_LARGE: SessionLimits(decompressed_request=0),
    Fault.REQUEST_OF_TOO_MANY_RECORDS: SessionLimits(records_per_request=0),
}


@pytest.mark.parametrize("fault", UNREAD)
def test_a_batch_that_is_not_read_may_lack_timestamps_and_is_rejected_with_the_limit(fault):
    """Also in a topic without limits. Without the rule, the broker reads it, and no header is worth more."""
    window = zstandard.ZstdCompressionParameters(window_log=24, write_content_size=False)
    compressor = zstandard.ZstdCompressor(compression_params=window).compressobj()
    data = batch([NOW_MS], ZSTD, body=compressor.compress(record()) + compressor.flush())
    told, goes = judged(data, bounds=UNREAD[fault], limits=TopicLimits(), no_timestamp=Choice.STAMP)

    assert (goes, told.verdict.error_message) == (None, OUR_LIMITS[fault])
    for more in ({}, {"keep_both_times": True}):
        assert judged(data, bounds=UNREAD[fault], limits=TopicLimits(), **more)[1] == data


def test_a_batch_of_a_request_that_takes_too_long_is_rejected(monkeypatch):
    def too_dear(*_):
        raise judge_partitions.TooDearError

    monkeypatch.setattr(judge_partitions, "_decide", too_dear)
    assert judged(batch([-1], ZSTD), limits=TopicLimits(), no_timestamp=Choice.STAMP)[1] is None


def test_the_client_learns_which_record_cannot_be_stamped():
    found, _ = judged(odd([NOW_MS, -1], ZSTD), no_timestamp=Choice.STAMP)

    assert isinstance(found.verdict, Reject)
    assert (found.verdict.reason, found.rewritten) == (Reason.MISSING, None)
    assert [(one.batch_index, one.message) for one in found.verdict.violations] == [
        (
            1,
            "Timestamp -1 of message with offset 1 means that there is none, which is not accepted by the "
            "proxy's rule stamps",
        )
    ]
