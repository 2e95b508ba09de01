"""The requests whose answers the client is owed, in order: the only queue of a connection."""

from collections import deque
from collections.abc import Callable
from typing import Any

from tsproxy.wire.kernel._twin.table import Table
from tsproxy.wire.kernel.passed import PassedProduce, PassedRelay

Passed = PassedRelay | tuple[PassedProduce, Table]


class InFlight:
    """Holds what the session pushes (its slots) beside what the kernel let pass.

    `slot_of` makes the session's own slot of a request that passed, for an answer that needs thought.
    `streaming`: how many bytes of the head's answer are still to come, where it goes on as it comes.
    `answered`: how many have left the queue; the last that was pushed is number answered + len.
    """

    def __init__(self, slot_of: Callable[[PassedProduce | PassedRelay], Any]) -> None:
        self._slot_of = slot_of
        self._queue: deque[Any] = deque()
        self.answered = 0
        self.streaming = 0

    def __len__(self) -> int:
        return len(self._queue)

    def push(self, slot: object) -> None:
        self._queue.append(slot)

    def head(self) -> Any:
        """The slot of the request that is answered next, None where there is none."""
        if not self._queue:
            return None
        self._queue[0] = self._as_slot(self._queue[0])
        return self._queue[0]

    def own_head(self) -> Any:
        """The head where it is the session's own slot, else None."""
        return self._queue[0] if self._queue and not _is_passed(self._queue[0]) else None

    def last(self) -> Any:
        """The slot that was pushed last, None where there is none or something passed since."""
        return self._queue[-1] if self._queue and not _is_passed(self._queue[-1]) else None

    def pop(self) -> None:
        """Forget the head."""
        self._queue.popleft()
        self.answered += 1

    def clear(self) -> list[Any]:
        """Forget all, and return their slots in order."""
        slots = [self._as_slot(each) for each in self._queue]
        self.answered += len(slots)
        self._queue.clear()
        return slots

    def passed(self, index: int) -> Passed | None:
        """The request at that place, the head's being 0, where the kernel let it pass and the session
        has not asked for it."""
        return self._queue[index] if index < len(self._queue) and _is_passed(self._queue[index]) else None

    def _as_slot(self, entry: Any) -> Any:
        if isinstance(entry, PassedRelay):
            return self._slot_of(entry)
        if _is_passed(entry):
            request, table = entry
            table.in_flight -= 1
            return self._slot_of(request)
        return entry


def _is_passed(entry: Any) -> bool:
    return isinstance(entry, PassedRelay | tuple)
