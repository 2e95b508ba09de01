"""What the session tells the kernel of one way to reject: the same value for both variants."""

from collections.abc import Callable
from dataclasses import dataclass

from tsproxy.model.outcome import Blame
from tsproxy.model.verdict import TopicLimits


@dataclass(frozen=True, slots=True)
class Rejection:
    """A batch was rejected for times outside `limits` alone; so is each other one with nothing else wrong
    whose first culprit lies from `lowest_ms` to `highest_ms`, at clocks from `from_ms` up to, not
    including, `until_ms`.

    Its answer has the blame's code and `error_message`, and names all culprits, if an answer that names
    `culprits_listed` can. `pieces_at` a clock gives what stands before a culprit's time, between it and
    the offset, and behind. `silence` (batches, bytes, now_ms), where there is one, books what was rejected
    and says for how long the client is to be silent for it, or None where it must not be answered now. Times
    in ms.
    """

    topic: str
    limits: TopicLimits
    lowest_ms: int
    highest_ms: int
    from_ms: int
    until_ms: int
    blame: Blame
    error_message: str
    culprits_listed: int
    pieces_at: Callable[[int], tuple[str, str, str]]
    silence: Callable[[int, int, int], int | None] | None = None
