"""The tables of loads: sizes, connections, TLS and codecs."""

from dataclasses import dataclass
from typing import Final

from benchmarks.frames import Shape
from tsproxy.fastpath.adaptive import TRUSTED_AFTER
from tsproxy.model.kafka import Codec


@dataclass(frozen=True, slots=True)
class Load:
    """A closed loop with requests of one shape: `connections`, and `in_flight` on each."""

    shape: Shape
    connections: int = 8
    in_flight: int = 5
    is_tls: bool = False
    expected_code: int = 0
    warm_up_requests: int | None = None

    @property
    def name(self) -> str:
        tls = ", TLS" if self.is_tls else ""
        return f"{self.shape.name}, {self.connections}×{self.in_flight}{tls}"

    @property
    def warm_up(self) -> int:
        """The number of requests on each connection before the measurement."""
        if self.warm_up_requests is not None:
            return self.warm_up_requests
        return 100 if self.shape.request_bytes <= 16_000 else 20


B200: Final = Shape(200)
KB1: Final = Shape(1_000)
KB16: Final = Shape(16_000)
KB100: Final = Shape(100_000)
MB1: Final = Shape(1_000_000)

LOADS: Final = (
    Load(B200),
    Load(KB1),
    Load(KB16),
    Load(KB100),
    Load(MB1),
    Load(KB1, 64, 1),
    Load(KB1, 64, 5),
    Load(KB1, is_tls=True),
    Load(KB16, is_tls=True),
    Load(KB100, is_tls=True),
    Load(MB1, is_tls=True),
)

COMPRESSED: Final = tuple(
    Load(Shape(100_000, codec=codec), warm_up_requests=2 * TRUSTED_AFTER)
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
)
"""After the warm-up, batches mostly stay unread if the proxy has its default (`adaptive`)."""
