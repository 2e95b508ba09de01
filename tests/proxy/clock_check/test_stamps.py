"""Our clock against times that brokers wrote anyway: pure."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tsproxy.proxy.clock_check.offsets import Offset
from tsproxy.proxy.clock_check.stamps import FORGOTTEN_AFTER_MS, REPLACED_AFTER_MS, Look, Newest, Stamps

HOUR_MS = 3_600_000
BROKER_MS = 1_800_000_000_000
"""The time of a broker's clock when the monotonic clock is 0."""


def look_at(began_ms, ended_ms, off_ms):
    """By a clock that is `off_ms` from the brokers'."""
    return Look(began_ms, ended_ms, BROKER_MS + ended_ms + off_ms)


def newest(timestamp_ms, leader=1, partition=0):
    return [Newest("__consumer_offsets", partition, leader, timestamp_ms)]


@given(
    st.integers(-(10**9), 10**9),
    st.lists(
        st.tuples(st.integers(0, 30_000), st.integers(0, 30_000), st.integers(0, 500), st.integers(0, 500)),
        max_size=8,
    ),
)
@example(0, [(0, 0, 0, 0), (0, 1_000, 0, 500), (1, 1_000, 0, 0)])
def test_whatever_is_found_holds_the_true_offset(off_ms, steps):
    """Each step: how long after the last answer a record is written, when brokers are asked, how long the
    broker takes to look, and how long its answer takes. A record may be written behind its look."""
    stamps, now_ms, looked_ms, written_ms = Stamps(), 0, 0, 0
    for write_after_ms, look_after_ms, takes_ms, answers_ms in steps:
        began_ms = now_ms + look_after_ms
        if write_after_ms:
            written_ms = min(looked_ms + write_after_ms, began_ms + takes_ms)
        looked_ms = began_ms + takes_ms
        now_ms = looked_ms + answers_ms
        stamps.record(look_at(began_ms, now_ms, off_ms), newest(BROKER_MS + written_ms))
        for offset in stamps.offsets(now_ms).values():
            assert abs(offset.ms - off_ms) <= offset.error_ms


AHEAD = newest(BROKER_MS + 100 * HOUR_MS)
SAY_NOTHING = {
    # A broker's clock may have been wrong last week: its record is still the newest of the partition.
    "a time that does not grow": {0: AHEAD, 2_000: AHEAD, 32_000: AHEAD, 34_000: AHEAD},
    # Its predecessor may have written what is newest now.
    "a new leader's first": {0: newest(BROKER_MS), 2_000: newest(BROKER_MS + 1_000, leader=2)},
    # It may come from a replica that was truncated; the next one says more.
    "a partition's first": {0: newest(-1), 2_000: newest(BROKER_MS + 1_000)},
}
"""Records that are newest at these times."""


@pytest.mark.parametrize("looks", SAY_NOTHING.values(), ids=SAY_NOTHING)
def test_some_times_say_nothing(looks):
    stamps = Stamps()
    for now_ms, records in looks.items():
        stamps.record(look_at(now_ms, now_ms + 5, 0), records)

    assert stamps.offsets(now_ms + 5) == {}


def test_the_closest_is_kept_for_a_while_and_nothing_for_good():
    stamps, written_ms = Stamps(), 0
    for began_ms in (0, 2_000, 32_000):
        written_ms += 1_000
        stamps.record(look_at(began_ms, began_ms + 5, -2 * HOUR_MS), newest(BROKER_MS + written_ms))
        found = stamps.offsets(began_ms + 5)
    assert found[1].error_ms < 1_010
    assert abs(found[1].ms + 2 * HOUR_MS) <= found[1].error_ms

    assert stamps.offsets(2_005 + FORGOTTEN_AFTER_MS) == {}


def found_at(stamps, began_ms, off_ms):
    """The estimate after a query by a clock that is `off_ms` off. A record was written just before."""
    stamps.record(look_at(began_ms, began_ms + 5, off_ms), newest(BROKER_MS + began_ms))
    return stamps.offsets(began_ms + 5)[1]


def test_an_estimate_follows_a_clock_that_is_led_along():
    """At once where the new estimate is as close, after a minute where it is not."""
    stamps = Stamps()
    stamps.record(look_at(0, 5, 0), newest(BROKER_MS))
    close, again = found_at(stamps, 2_000, 0), found_at(stamps, 4_000, 500)
    assert (close.error_ms, again) == (again.error_ms, Offset(close.ms + 500, close.error_ms))

    assert found_at(stamps, 34_000, 2_000) == again
    later_ms = 34_000 + REPLACED_AFTER_MS
    later = found_at(stamps, later_ms, 9_000)
    assert later.error_ms > again.error_ms
    assert abs(later.ms - 9_000) <= later.error_ms
