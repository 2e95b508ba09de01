"""The walk over a Fetch answer: `_native/fetch.pxd` in Python."""

from enum import IntEnum, auto

_HEAD = 4 + 4  # size, correlation_id
_BODY = 4 + 2 + 4  # throttle_time_ms, error_code, session_id
_TOPIC = 16  # topic_id
_PARTITION = 4 + 2 + 8 + 8 + 8  # partition_index, error_code, high_watermark, two more offsets
_TRANSACTION = 8 + 8  # producer_id, first_offset
_REPLICA = 4  # preferred_read_replica
_SMALLEST_TAIL = 3  # the fewest bytes of a section that has a tagged field


class _Step(IntEnum):
    """The number that is read after `_skip` bytes are stepped over. From END on, no number follows."""

    HEADER_TAGS = auto()
    TOPICS = auto()
    PARTITIONS = auto()
    TRANSACTIONS = auto()
    TRANSACTION_TAGS = auto()
    RECORDS = auto()
    PARTITION_TAGS = auto()
    TOPIC_TAGS = auto()
    TAG = auto()
    TAG_SIZE = auto()
    END = auto()
    TAIL = auto()
    BAD = auto()
    OVER = auto()


class FetchWalk:
    """The walk over a Fetch answer. `tsproxy.wire.readers` describes it."""

    __slots__ = (
        "_number",
        "_partitions",
        "_section",
        "_shift",
        "_skip",
        "_step",
        "_tags",
        "_topics",
        "_transactions",
        "left",
    )

    def __init__(self) -> None:
        self.end()

    def begin(self, size: int) -> None:
        self.end()
        self.left = size
        self._go(_Step.HEADER_TAGS, _HEAD)

    def end(self) -> None:
        self._step = self._section = _Step.OVER
        self.left = self._skip = self._number = self._shift = 0
        self._topics = self._partitions = self._transactions = self._tags = 0

    @property
    def is_over(self) -> bool:
        return self._step is _Step.OVER

    @property
    def is_at_tail(self) -> bool:
        return self._step is _Step.TAIL

    @property
    def is_bad(self) -> bool:
        return self._step is _Step.BAD

    def advance(self, data: bytes | memoryview) -> int:
        at, end = 0, len(data)
        while self._step < _Step.TAIL:
            if self._skip > self.left:
                self._step = _Step.BAD
                break
            size = min(self._skip, end - at)
            at += size
            self._skip -= size
            self.left -= size
            if self._skip:
                break
            if self._step is _Step.END and self.left >= _SMALLEST_TAIL:
                self._step = _Step.TAIL
                break
            if not self.left:
                self._step = _Step.BAD
                break
            if at == end:
                break
            self._take_byte(data[at])
            at += 1
        return at

    def _take_byte(self, byte: int) -> None:
        """Read one more byte of the current number, or the last byte of the answer."""
        self.left -= 1
        if self._step is _Step.END:
            self._step = _Step.BAD if byte or self.left else _Step.OVER
            return
        self._number |= (byte & 0x7F) << self._shift
        if byte < 0x80:
            number, is_padded = self._number, byte == 0 and self._shift > 0
            self._number = self._shift = 0
            if is_padded or number >> 32:
                self._step = _Step.BAD
            else:
                self._take_number(number)
        elif self._shift == 28:
            self._step = _Step.BAD
        else:
            self._shift += 7

    def _take_number(self, number: int) -> None:
        """Apply the number of the current step, and go to the next step."""
        match self._step:
            case _Step.TAG:
                self._step = _Step.TAG_SIZE
            case _Step.TAG_SIZE:
                self._skip = number
                self._tags -= 1
                self._next_tag()
            case _Step.RECORDS:
                self._go(_Step.PARTITION_TAGS, max(number - 1, 0))
            case _Step.TRANSACTIONS:
                self._transactions = max(number - 1, 0)
                self._next_transaction()
            case _Step.TOPICS | _Step.PARTITIONS if number == 0:
                self._step = _Step.BAD
            case _Step.TOPICS:
                self._topics = number - 1
                self._next_topic()
            case _Step.PARTITIONS:
                self._partitions = number - 1
                self._next_partition()
            case section:
                self._section, self._tags = section, number
                self._next_tag()

    def _go(self, step: _Step, skip: int) -> None:
        self._step = step
        self._skip += skip

    def _next_tag(self) -> None:
        if self._tags:
            self._step = _Step.TAG
            return
        match self._section:
            case _Step.HEADER_TAGS:
                self._go(_Step.TOPICS, _BODY)
            case _Step.TRANSACTION_TAGS:
                self._transactions -= 1
                self._next_transaction()
            case _Step.PARTITION_TAGS:
                self._partitions -= 1
                self._next_partition()
            case _:
                self._topics -= 1
                self._next_topic()

    def _next_topic(self) -> None:
        if self._topics:
            self._go(_Step.PARTITIONS, _TOPIC)
        else:
            self._step = _Step.END

    def _next_partition(self) -> None:
        if self._partitions:
            self._go(_Step.TRANSACTIONS, _PARTITION)
        else:
            self._step = _Step.TOPIC_TAGS

    def _next_transaction(self) -> None:
        if self._transactions:
            self._go(_Step.TRANSACTION_TAGS, _TRANSACTION)
        else:
            self._go(_Step.RECORDS, _REPLICA)
