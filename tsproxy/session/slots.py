"""What is to be done with the answer to a request that was sent on: one slot a request, in order.

Rules are synchronous, so a local answer is ready when its slot is made; the head of the queue is
always the request that the broker is answering now. That is why a FIFO is enough.
"""

from dataclasses import dataclass
from typing import Final, Self

from tsproxy.session.produce import Ruling
from tsproxy.wire.kernel import PassedProduce, PassedRelay

_FEW: Final = 100
_A_PARTITION: Final = 1 << 10
"""What is kept of a partition until its broker has answered."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Let it stream through."""

    correlation_id: int


@dataclass(frozen=True, slots=True)
class Local:
    """No broker is asked: this frame is the answer."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class RewriteAddresses:
    correlation_id: int
    api_key: int
    api_version: int


@dataclass(frozen=True, slots=True)
class MaskConfigs:
    """DescribeConfigs: brokers' listeners stand among their configuration, as plain strings."""

    correlation_id: int
    api_version: int


@dataclass(frozen=True, slots=True)
class NarrowVersions:
    """ApiVersions: offer only what is understood."""

    correlation_id: int
    api_version: int


@dataclass(frozen=True, slots=True)
class WatchHandshake:
    correlation_id: int


@dataclass(frozen=True, slots=True)
class WatchToken:
    correlation_id: int
    api_version: int


@dataclass(frozen=True, slots=True)
class WatchRawToken:
    """A SASL token without header: its answer has no correlation id either."""


@dataclass(frozen=True, slots=True)
class BookProduce:
    """Read the broker's verdict, merge ours into it, book both. `held_bytes` of many partitions."""

    correlation_id: int
    ruling: Ruling
    held_bytes: int = 0

    @classmethod
    def holding(cls, correlation_id: int, ruling: Ruling) -> Self:
        """The slot of a request that the session has judged."""
        partitions = len(ruling.forwarded) + len(ruling.rejected)
        return cls(correlation_id, ruling, max(0, partitions - _FEW) * _A_PARTITION)


def of_passed(passed: PassedProduce | PassedRelay) -> Relay | BookProduce:
    """The slot of a request that the kernel let pass and whose answer needs a thought."""
    if isinstance(passed, PassedRelay):
        return Relay(passed.correlation_id)
    return BookProduce(passed.correlation_id, Ruling.of_passed(passed))


Held = (
    RewriteAddresses
    | MaskConfigs
    | NarrowVersions
    | WatchHandshake
    | WatchToken
    | WatchRawToken
    | BookProduce
)
"""Answers that are read whole before they go on."""

Slot = Relay | Local | Held
