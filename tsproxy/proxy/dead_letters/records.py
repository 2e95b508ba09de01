"""The contents of a dead letter: a culprit's key, value and headers, and headers that describe the rejection.

Its timestamp is the proxy's clock when the record arrived, which any topic can store. A header holds the
rejected timestamp. Our headers come last, so that the last header of a name is always ours, whatever headers
a client has used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.text import bounded
from tsproxy.model.outcome import RejectedBatch
from tsproxy.model.verdict import Trait, Violation, ViolationColumns
from tsproxy.model.view import SessionLimits
from tsproxy.policy.units import guess_unit
from tsproxy.wire.contents import Content, read_contents

CHUNK_BYTES: Final = 64 * 1024
"""The approximate size of records that are sent together. A larger record is sent alone."""
_MAX_TEXT: Final = 1_000

Headers = list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class DeadLetterRecord:
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None
    """None for a record with too many headers, which is not sent."""

    @property
    def size(self) -> int:
        """About the size in bytes: the batch counts exactly when it is built."""
        texts = [text or b"" for text in (self.key, self.value, *(value for _, value in self.headers or ()))]
        return sum(map(len, texts)) + sum(len(name) for name, _ in self.headers or ())


def chunks_of(
    dead: RejectedBatch, limits: SessionLimits, privacy: Privacy
) -> Iterator[Sequence[DeadLetterRecord]]:
    """The dead letters of one batch, in its order and in chunks to send together. There are fewer dead
    letters than culprits if the batch cannot be read to the end. Call it in a thread, since it
    decompresses."""
    of_batch = _of_batch(dead, privacy)
    contents = read_contents(dead.records, positions_of(dead), limits)
    chunk: list[DeadLetterRecord] = []
    size = 0
    for content, violation in zip(contents, dead.rejection.violations, strict=False):
        record = _dead_letter(dead, content, violation, of_batch)
        if chunk and size + record.size > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(record)
        size += record.size
    if chunk:
        yield chunk


def positions_of(dead: RejectedBatch) -> Sequence[int]:
    """The positions of the culprits in the batch, ascending."""
    violations = dead.rejection.violations
    if isinstance(violations, ViolationColumns):
        return violations.columns[0]
    return [violation.batch_index for violation in violations]


def _dead_letter(
    dead: RejectedBatch, content: Content, violation: Violation, of_batch: Headers
) -> DeadLetterRecord:
    is_of_size = Trait.OF_SIZE in violation.reason.traits
    unit = guess_unit(content.timestamp_ms, dead.now_ms) if is_of_size else None
    texts = {
        "tsproxy-original-timestamp": str(content.timestamp_ms),
        "tsproxy-reason": violation.reason.value,
        "tsproxy-unit-guess": unit and unit.value,
        "tsproxy-error": bounded(violation.message, _MAX_TEXT) or None,
    }
    headers = None
    if content.headers is not None:
        of_record: Headers = [(name.decode("utf-8", "replace"), value) for name, value in content.headers]
        headers = of_record + of_batch + _headers(texts)
    return DeadLetterRecord(dead.now_ms, content.key, content.value, headers)


def _of_batch(dead: RejectedBatch, privacy: Privacy) -> Headers:
    """The headers that all dead letters of a batch share."""
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


def _headers(texts: dict[str, str | None]) -> Headers:
    return [(name, text.encode("utf-8", "replace")) for name, text in texts.items() if text is not None]
