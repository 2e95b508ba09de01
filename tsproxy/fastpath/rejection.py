"""A rejection of the session that the fast path may repeat: `Rejection`."""

from dataclasses import dataclass

from tsproxy.decisions.totals import Key
from tsproxy.fastpath._native import Freshness
from tsproxy.model.verdict import TopicLimits


@dataclass(frozen=True, slots=True)
class Rejection:
    """The rejection of a batch for `topic` that has no fault but times outside `limits`. `topic_id` is set if
    the request names topics by id.

    Another batch with no other fault is rejected in the same way on two conditions. The time of its first
    culprit is from `lowest_ms` to `highest_ms`, and the clock shows `from_ms` or later, but not yet
    `until_ms`. The answer has the key's error code and `error_message`, and lists all culprits. The session
    handles a request with more than `culprits_listed` culprits. Times in ms. With `freshness`, it also ends
    with that of the limits.
    """

    topic: str
    limits: TopicLimits
    lowest_ms: int
    highest_ms: int
    from_ms: int
    until_ms: int
    key: Key
    error_message: str
    culprits_listed: int
    topic_id: bytes | None = None
    freshness: Freshness | None = None
