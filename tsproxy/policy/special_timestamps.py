"""Special timestamps: -1, zero and other negative values. An operator may reject them even if the limits
allow them.

Sources: KIP-32 (-1 is NO_TIMESTAMP, and is never checked), KIP-228 (a proposal to allow negative timestamps).
"""

from tsproxy.model.kafka import NO_TIMESTAMP
from tsproxy.model.policy import Choice, TopicPolicy
from tsproxy.model.records import RecordFacts
from tsproxy.model.verdict import Reason


def rejected(timestamp_ms: int, policy: TopicPolicy) -> Reason | None:
    """The reason why this timestamp is rejected; None if it is not."""
    if timestamp_ms > 0:
        return None
    if timestamp_ms == NO_TIMESTAMP:
        return Reason.MISSING if policy.no_timestamp is Choice.REJECT else None
    if timestamp_ms == 0:
        return Reason.TOO_OLD if policy.zero is Choice.REJECT else None
    return Reason.NEGATIVE if policy.negative is Choice.REJECT else None


def are_certainly_allowed(facts: RecordFacts, policy: TopicPolicy) -> bool:
    """True if no record can have a rejected value. A zero may be between the lowest and the highest
    timestamp."""
    if not policy.rejects_special_timestamps:
        return True
    if facts.missing and policy.no_timestamp is Choice.REJECT:
        return False
    return facts.lowest_ms is None or facts.lowest_ms > 0


def text(timestamp_ms: int, offset: int, policy: TopicPolicy) -> str:
    """The error text for a rejected special timestamp. It is the proxy's own, since brokers have none."""
    what = "means that there is none, which is" if timestamp_ms == NO_TIMESTAMP else "is"
    return (
        f"Timestamp {timestamp_ms} of message with offset {offset} {what} not accepted by the proxy's rule "
        f"{policy.rule}"
    )
