"""Timestamps that brokers accept whatever the limits, and an operator may reject: -1, zero, negative ones.

Sources: KIP-32 (-1 is NO_TIMESTAMP, and never checked), KIP-228 (negative timestamps were to be allowed, and
five components learnt to cope with -1 instead).
"""

from tsproxy.model.kafka import NO_TIMESTAMP
from tsproxy.model.policy import Choice, TopicPolicy
from tsproxy.model.records import RecordFacts
from tsproxy.model.verdict import Reason


def rejected(timestamp_ms: int, policy: TopicPolicy) -> Reason | None:
    """Why this timestamp is rejected, None if it is not."""
    if timestamp_ms > 0:
        return None
    if timestamp_ms == NO_TIMESTAMP:
        return Reason.MISSING if policy.no_timestamp is Choice.REJECT else None
    if timestamp_ms == 0:
        return Reason.TOO_OLD if policy.zero is Choice.REJECT else None
    return Reason.NEGATIVE if policy.negative is Choice.REJECT else None


def are_certainly_allowed(facts: RecordFacts, policy: TopicPolicy) -> bool:
    """True if no record can hold a rejected value. Zero may hide between the lowest and the highest."""
    if not policy.rejects_special_timestamps:
        return True
    if facts.missing and policy.no_timestamp is Choice.REJECT:
        return False
    return facts.lowest_ms is None or facts.lowest_ms > 0


def text(timestamp_ms: int, offset: int, policy: TopicPolicy) -> str:
    """The proxy's own text: no broker has one."""
    what = "means that there is none, which is" if timestamp_ms == NO_TIMESTAMP else "is"
    return (
        f"Timestamp {timestamp_ms} of message with offset {offset} {what} not accepted by the proxy's rule "
        f"{policy.rule}"
    )
