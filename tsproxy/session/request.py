"""A whole request of the client: `Request`."""

from dataclasses import dataclass

from tsproxy.session.budget import DecompressionBudget
from tsproxy.wire.frames import SIZE_BYTES
from tsproxy.wire.headers import RequestHeader


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request. `frame` is as it came, with its size prefix. `now_ms` is the time of its judgement."""

    frame: bytes
    header: RequestHeader
    now_ms: int
    budget: DecompressionBudget

    @property
    def body(self) -> memoryview:
        return memoryview(self.frame)[SIZE_BYTES + self.header.body_start :]
