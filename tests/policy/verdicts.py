"""The verdict on one batch, or on some, by a proxy that knows its topic's limits."""

from tsproxy.model.policy import NO_POLICY
from tsproxy.model.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import SessionLimits, View
from tsproxy.session.produce.judge_partitions import judge_all
from tsproxy.wire.headers import RequestHeader

NOW_MS = 1_767_225_600_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

LIMITS = TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS)


def judged(
    records,
    limits=LIMITS,
    version=9,
    acks=-1,
    transactional_id=None,
    topic="t",
    policy=NO_POLICY,
    **session_limits,
):
    """The verdict on `records` (bytes or None) for partition t-3; `limits` None: not known yet."""
    topics = {} if limits is None else {topic: limits}
    view = View(topics=topics, limits=SessionLimits(**session_limits), policy=policy)
    more = {"version": version, "acks": acks, "transactional_id": transactional_id, "topic": topic}
    (only,) = judged_by(view, records, **more)
    return only


def judged_by(view, *records, version=9, acks=-1, transactional_id=None, topic="t"):
    """The verdict on each of `records` (bytes or None): one request, whose first partition is t-3."""
    partitions = tuple(
        PartitionProduceData(number, None if data is None else memoryview(data))
        for number, data in enumerate(records, start=3)
    )
    request = ProduceRequest(transactional_id, acks, 1000, (TopicProduceData(topic, partitions),))
    return judge_all(RequestHeader(0, version, 1, None, 0), request, view, NOW_MS)


def verdict(records, *args, **more):
    return judged(records, *args, **more).verdict
