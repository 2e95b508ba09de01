"""A rejection of the session that the fast path may repeat: `Rejection`."""

from dataclasses import dataclass

from tsproxy.model.outcome import RejectionCause
from tsproxy.model.verdict import TopicLimits


@dataclass(frozen=True, slots=True)
class Rejection:
    """A batch for `topic` was rejected for times outside `limits` alone. `topic_id` is there if its
    request names that.

    Another batch with nothing else wrong is rejected in the same way if its first culprit lies from
    `lowest_ms` to `highest_ms`, at clocks from `from_ms` up to, not including, `until_ms`. The answer has the
    cause's error code and `error_message`, and names all culprits, if there are at most `culprits_listed`.
    Times in ms.
    """

    topic: str
    limits: TopicLimits
    lowest_ms: int
    highest_ms: int
    from_ms: int
    until_ms: int
    cause: RejectionCause
    error_message: str
    culprits_listed: int
    topic_id: bytes | None = None
