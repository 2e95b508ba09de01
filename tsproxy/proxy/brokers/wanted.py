"""Questions about topics that clients have named, and whose question is asked next: `Wanted`. Pure.

Clients may name topics that do not exist, as many as they like. So questions are shared out by client
address: each address has a short queue, and addresses take turns. An address that fills its own queue takes
nothing from others. A key that several addresses want is in the queue of each.

A topic that was just created may not be known to the broker that is asked. So a question without an answer is
repeated, after growing pauses, for as long as a request waits for it. Then the key is dropped until it is
wanted again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from tsproxy.model.bounded import A_PLACE, Ceiling, Room, bytes_of

K = TypeVar("K", bytes, str)

MAX_OF_ADDRESS: Final = 100
MAX_ADDRESSES: Final = 500
WANTED: Final = Ceiling(
    "topics, and ids of topics, that brokers are asked about",
    most=MAX_OF_ADDRESS * MAX_ADDRESSES,
    most_bytes=16 << 20,
    when_full="a topic is not asked about before others have an answer",
    entry_bytes=A_PLACE + 100,
    containers=2,
)
PAUSES_MS: Final = (100, 200, 400)
"""How long to wait before a question without an answer is repeated, the first time, the second time, …"""


@dataclass(slots=True)
class _Question:
    """A key that an address wants. `asked` says how often the question was without an answer."""

    due_ms: int
    asked: int = 0


class Wanted(Generic[K]):
    """The keys that are wanted. Times are monotonic ms."""

    def __init__(self) -> None:
        self._room = Room(WANTED)
        self._of: dict[str, dict[K, _Question]] = {}
        """By address. The address that was served last comes last."""

    def __len__(self) -> int:
        return self._room.entries

    def __contains__(self, key: K) -> bool:
        return any(key in queue for queue in self._of.values())

    def add(self, key: K, address: str, now_ms: int) -> bool:
        """A client at `address` wants to know about `key`. Returns whether the question will be asked."""
        queue = self._of.get(address, {})
        if key in queue:
            return True
        is_full = len(queue) >= MAX_OF_ADDRESS or not self._room.takes(_size_of(key))
        if is_full or (not queue and len(self._of) >= MAX_ADDRESSES):
            return False
        queue[key] = _Question(now_ms)
        self._of[address] = queue
        self._room.add(_size_of(key))
        return True

    @property
    def due_ms(self) -> int | None:
        """When the next question is due; None if nothing is wanted."""
        return min((entry.due_ms for queue in self._of.values() for entry in queue.values()), default=None)

    def take(self, now_ms: int, most: int) -> Sequence[K]:
        """At most `most` keys whose questions are due, one of each address in turn. They stay wanted until
        `known` or `missed`."""
        taken: dict[K, None] = {}
        due = {
            address: [key for key, question in queue.items() if question.due_ms <= now_ms]
            for address, queue in self._of.items()
        }
        for turn in range(MAX_OF_ADDRESS):
            for address, keys in due.items():
                if turn < len(keys) and len(taken) < most:
                    taken[keys[turn]] = None
                    self._of[address] = self._of.pop(address)
        return tuple(taken)

    def known(self, keys: Iterable[K]) -> None:
        """These keys are known now, or no question will make them known."""
        gone = set(keys)
        for address, queue in list(self._of.items()):
            for key in gone & queue.keys():
                del queue[key]
                self._room.remove(_size_of(key))
            if not queue:
                del self._of[address]

    def missed(self, keys: Iterable[K], now_ms: int) -> None:
        """These keys were asked, and are not known. They are asked again, or dropped."""
        dropped = []
        for key in keys:
            for queue in self._of.values():
                if (question := queue.get(key)) is None:
                    continue
                if question.asked == len(PAUSES_MS):
                    dropped.append(key)
                else:
                    question.due_ms = now_ms + PAUSES_MS[question.asked]
                    question.asked += 1
        self.known(dropped)


def _size_of(key: bytes | str) -> int:
    return bytes_of(key) + WANTED.entry_bytes
