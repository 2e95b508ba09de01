from typing import Final

from tsproxy.model.records import RecordFacts

NAME: Final[str]

def walk(
    data: bytes | memoryview, base_timestamp: int, count: int, lengths_must_fit: bool
) -> RecordFacts: ...

class StreamWalker:
    def __init__(self, base_timestamp: int, count: int, lengths_must_fit: bool) -> None: ...
    def feed(self, data: bytes | memoryview) -> None: ...
    def finish(self) -> RecordFacts: ...
