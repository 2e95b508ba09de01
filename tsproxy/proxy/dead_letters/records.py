"""What a dead letter is made of: a rejected record's key, value and headers, and headers that tell of it.

Its time is the proxy's clock when the record came, which any topic can store; the time that it was
rejected for stands in a header. Ours come last, so that the last of a name is ours whatever a client
has put into its records.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.text import bounded
from tsproxy.model.dead_letter import DeadBatch
from tsproxy.model.verdict import OutOfRange, Violation
from tsproxy.model.view import SessionLimits
from tsproxy.policy.units import REASONS_OF_SIZE, guess_unit
from tsproxy.wire.contents import Content, read_contents

CHUNK_BYTES: Final = 64 * 1024
"""Letters that are sent together have about as much, or are one alone."""
_MOST_TEXT: Final = 1_000

Headers = list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class DeadLetterRecord:
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        texts = [text or b"" for text in (self.key, self.value, *(value for _, value in self.headers))]
        return sum(map(len, texts)) + sum(len(name) for name, _ in self.headers)


def chunks_of(
    dead: DeadBatch, limits: SessionLimits, privacy: Privacy
) -> Iterator[Sequence[DeadLetterRecord]]:
    """The letters of one batch, in its order, as many at a time as are sent together. Fewer than are named
    where the batch cannot be read on. To be asked beside the loop: it decompresses."""
    of_batch = _of_batch(dead, privacy)
    contents = read_contents(dead.records, positions_of(dead), limits)
    chunk: list[DeadLetterRecord] = []
    size = 0
    for content, violation in zip(contents, dead.rejection.violations, strict=False):
        letter = _letter(dead, content, violation, of_batch)
        if chunk and size + letter.size > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(letter)
        size += letter.size
    if chunk:
        yield chunk


def positions_of(dead: DeadBatch) -> Sequence[int]:
    """Where in the batch the records at fault stand, ascending."""
    violations = dead.rejection.violations
    if isinstance(violations, OutOfRange):
        return violations.outside.positions
    return [violation.batch_index for violation in violations]


def _letter(dead: DeadBatch, content: Content, violation: Violation, of_batch: Headers) -> DeadLetterRecord:
    is_of_size = violation.reason in REASONS_OF_SIZE
    unit = guess_unit(content.timestamp_ms, dead.now_ms) if is_of_size else None
    told = {
        "tsproxy-original-timestamp": str(content.timestamp_ms),
        "tsproxy-reason": violation.reason.value,
        "tsproxy-unit-guess": unit and unit.value,
        "tsproxy-error": bounded(violation.message, _MOST_TEXT) or None,
    }
    headers: Headers = [(name.decode("utf-8", "replace"), value) for name, value in content.headers]
    return DeadLetterRecord(dead.now_ms, content.key, content.value, headers + of_batch + _headers(told))


def _of_batch(dead: DeadBatch, privacy: Privacy) -> Headers:
    """What is the same for all letters of a batch."""
    peer = dead.peer
    return _headers(
        {
            "tsproxy-original-topic": dead.topic,
            "tsproxy-original-partition": str(dead.partition),
            "tsproxy-arrival-timestamp": str(dead.now_ms),
            "tsproxy-rule": dead.rule,
            "tsproxy-client-id": None if peer.client_id is None else bounded(peer.client_id),
            "tsproxy-principal": privacy.principal(peer.principal),
        }
    )


def _headers(told: dict[str, str | None]) -> Headers:
    return [(name, text.encode("utf-8", "replace")) for name, text in told.items() if text is not None]
