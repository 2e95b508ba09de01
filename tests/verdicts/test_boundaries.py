"""Bounds to the millisecond against real brokers, by the broker's own clock.

Nobody can know beforehand at which millisecond a broker will judge. But it judges all records of a batch at
one, and the text of each rejection tells which: so one batch holds every millisecond around a bound, and the
answer names both the clock and each record that was rejected by it. The core must say the same of the same
bytes at the same clock, record by record.
"""

import re

import pytest

from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.intended import read_by_the_core
from rigs.differential.lines import Direct, address_of, now_ms
from tests.verdicts.rows import DAY, HOUR, KEEP, limits
from tsproxy.cluster.topic_limits import topic_limits
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, ErrorCode, wrap64
from tsproxy.model.verdict import Reject, TopicLimits
from tsproxy.model.view import View
from tsproxy.policy.judge import first_rejection
from tsproxy.testing.kafka_cluster import KafkaCluster

VERSION = 11
REACH_MS = 1_500

BOUNDS = {
    "too old": (limits(DAY, HOUR), -DAY),
    "too far ahead": (limits(DAY, HOUR), HOUR),
    "nothing but now": (limits(0), 0),
    "Long.MIN + now where the past alone is limited": (limits(DAY, LONG_MAX), LONG_MIN),
    "Long.MIN + now where the future alone is limited": (limits(LONG_MAX, HOUR), LONG_MIN),
    "Long.MIN + now where both are limited": (limits(DAY, HOUR), LONG_MIN),
    "Long.MIN + now where limits are Long.MAX - 1": (limits(LONG_MAX - 1), LONG_MIN),
}
"""The topic's limits, and where its bound lies, in ms from now."""


def told_clock_ms(text: str, known: TopicLimits) -> int:
    """The clock that a rejection's text was made by."""
    found = re.search(r"\[(-?\d+), (-?\d+)\]$", text)
    assert found is not None
    before = LONG_MAX if known.before_max_ms is None else known.before_max_ms
    return wrap64(int(found[1]) + before)


def culprits_by_the_core(records: bytes, topic: str, known: TopicLimits, clock_ms: int) -> dict[int, str]:
    """Index -> text of each record that the core rejects at `clock_ms`."""
    view = View(topics={topic: known})
    rejected = first_rejection(read_by_the_core(view, VERSION, topic, 0, records, clock_ms))
    assert isinstance(rejected, Reject)
    return {error.batch_index: error.message for error in rejected.record_errors}


@pytest.mark.parametrize("name", BOUNDS)
async def test_each_millisecond_around_a_bound_is_judged_as_the_broker_judges_it(
    kafka: KafkaCluster, topic: str, name: str
):
    config, bound_ms = BOUNDS[name]
    await kafka.create_topic(topic, config=KEEP | config)
    known = topic_limits(await kafka.topic_config(topic))
    line, bound_at = Direct(address_of(kafka)), None
    while bound_at is None:  # again where the broker took longer than REACH_MS to judge
        start_ms = now_ms()
        times = [wrap64(start_ms + bound_ms + step) for step in range(-REACH_MS, REACH_MS + 1)]
        records = write_batch(Batch(tuple(Record(ts) for ts in times)))
        answer = line.told(VERSION, [(topic, 0, records)])[topic, 0]
        assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
        told = {error.batch_index: error.message or "" for error in answer.record_errors}
        clock_ms = told_clock_ms(next(iter(told.values())), known)
        bound_at = next((at for at, ts in enumerate(times) if ts == wrap64(clock_ms + bound_ms)), None)
    line.close()
    ours = culprits_by_the_core(records, topic, known, clock_ms)
    hole = wrap64(LONG_MIN + clock_ms)
    if hole in times and known.before_max_ms is not None:
        assert times.index(hole) not in told, "the broker's overflow lets it through"
        del ours[times.index(hole)]
    assert ours == told
    assert {bound_at - 1, bound_at + 1} & told.keys(), "no bound was met"
    assert len(told) < len(times), "no bound was met"
