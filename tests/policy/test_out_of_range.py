"""Culprits are columns if only the range matters: the verdict is the same as record by record."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.verdicts import DAY_MS, HOUR_MS, LIMITS, NOW_MS, verdict
from tests.wire.batches import CODECS, batch, record, wrap
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.verdict import OutOfRange, Reason, TopicLimits
from tsproxy.policy.checks import record as record_checks

ahead_or_not = st.sampled_from(
    [
        NOW_MS,
        NOW_MS + HOUR_MS,
        NOW_MS + HOUR_MS + 1,
        NOW_MS - DAY_MS,
        NOW_MS - DAY_MS - 1,
        -1,
        0,
        NOW_MS * 1000,
    ]
)
edges = st.sampled_from([LONG_MIN, LONG_MIN + NOW_MS, LONG_MIN + NOW_MS + 1, LONG_MAX, -2])
spans = st.sampled_from([None, 0, 5, HOUR_MS, DAY_MS, LONG_MAX - 1])


@given(
    times=st.lists(ahead_or_not | edges, min_size=1, max_size=6),
    before_ms=spans,
    after_ms=spans,
    codec=st.sampled_from([0, *CODECS.values()]),
    base_offset_delta=st.integers(0, 3),
    listed=st.integers(0, 7),
    version=st.sampled_from([3, 7, 8, 9, 12]),
)
def test_the_verdict_is_the_one_that_is_come_to_record_by_record(
    times, before_ms, after_ms, codec, base_offset_delta, listed, version
):
    records = [record(wrap(time - times[0]), base_offset_delta + n) for n, time in enumerate(times)]
    data = batch(codec=codec, records=records, base_timestamp=times[0])
    limits = TopicLimits(before_max_ms=before_ms, after_max_ms=after_ms)

    def found():
        return verdict(data, limits, version, culprits_listed=listed)

    by_columns = found()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(record_checks, "_only_their_range_matters", lambda case: False)
        assert found() == by_columns


def test_a_usual_rejection_makes_no_object_of_a_record():
    found = verdict(batch([NOW_MS, NOW_MS * 1000, NOW_MS * 1000]))
    assert isinstance(found.violations, OutOfRange)
    assert [violation.batch_index for violation in found.violations[:9]] == [1, 2]


def test_keys_are_looked_at_where_they_must_be_there():
    found = verdict(batch([NOW_MS * 1000] * 2, key=None), replace(LIMITS, is_compacted=True))
    assert "without key" in found.violations[0].message


def test_an_empty_key_is_a_key():
    found = verdict(batch([NOW_MS * 1000] * 2, key=b""), replace(LIMITS, is_compacted=True))
    assert [violation.reason for violation in found.violations] == [Reason.TOO_FAR_AHEAD] * 2
