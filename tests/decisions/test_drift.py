"""`drift-v1` is published: its edges may never change, and every bound people set is exact."""

from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tsproxy.decisions.drift import EDGES, THRESHOLDS_MS, bucket, bucket_bounds_ms, drift_ms
from tsproxy.model.kafka import LONG_MAX, LONG_MIN

any_drift = st.one_of(
    st.integers(LONG_MIN - 2**63, LONG_MAX + 2**63),
    st.integers(-(10**6), 10**6),
    st.sampled_from(EDGES).flatmap(lambda edge: st.sampled_from([edge - 1, edge, edge + 1, -edge, 1 - edge])),
)


def test_the_edges_are_the_published_ones():
    assert len(EDGES) == 173
    digest = sha256(",".join(map(str, EDGES)).encode()).hexdigest()
    assert digest == "b330b3cb36cf06e9b9763a007694f33c39a55fc58f2a848180c944421e3a2c24"


def test_every_human_threshold_is_an_edge():
    assert set(THRESHOLDS_MS) <= set(EDGES)


@given(any_drift)
@example(0)
@example(LONG_MAX)
@example(-LONG_MAX)
def test_a_bucket_spans_the_drift_that_fell_into_it(drift):
    low, high = bucket_bounds_ms(bucket(drift))
    magnitude = min(abs(drift), LONG_MAX)
    assert (low < magnitude <= high) or drift == low == high == 0


@given(any_drift.map(lambda drift: drift_ms(drift, 0)), st.sampled_from(EDGES))
@example(LONG_MAX, LONG_MAX)
@example(-LONG_MAX, LONG_MAX)
def test_at_an_edge_the_histogram_answers_exactly_what_a_broker_would(drift, edge):
    """`after` rejects drift > T and `before` rejects -drift > T, bounds included on both sides."""
    at_edge = bucket(edge)
    assert (bucket(drift) > at_edge) == (drift > edge)
    assert (bucket(drift) < -at_edge) == (-drift > edge)


@given(st.integers(LONG_MIN, LONG_MAX), st.integers(LONG_MIN, LONG_MAX))
def test_drift_is_wide_and_saturated_where_java_would_wrap(timestamp_ms, now_ms):
    drift = drift_ms(timestamp_ms, now_ms)
    assert abs(drift) <= LONG_MAX
    assert (drift > 0) == (timestamp_ms > now_ms)
    if abs(timestamp_ms - now_ms) <= LONG_MAX:
        assert drift == timestamp_ms - now_ms


@pytest.mark.parametrize("index", [174, -174, 10**6])
def test_a_bucket_outside_the_table_is_an_error(index):
    with pytest.raises(ValueError, match="drift-v1 has no bucket"):
        bucket_bounds_ms(index)
