"""The walk over a Fetch or ShareFetch answer: `fetch.pxd` in Python."""

from enum import IntEnum, auto

from tsproxy.wire.readers.streamed import NO_TAIL, STEPS, Layout, Number, Step


class _Phase(IntEnum):
    """The item after the bytes that are skipped. From END on, no number follows."""

    NUMBER = auto()
    TAG = auto()
    TAG_SIZE = auto()
    END = auto()
    TAIL = auto()
    BAD = auto()
    OVER = auto()


class FetchWalk:
    """The walk over a Fetch or ShareFetch answer. The stub of `wire/readers` describes it."""

    __slots__ = (
        "_at",
        "_items",
        "_number",
        "_phase",
        "_shift",
        "_skip",
        "_steps",
        "_tags",
        "_tail",
        "layout",
        "left",
    )

    def __init__(self) -> None:
        self.layout = Layout.FETCH
        self._steps: tuple[Step, ...] = ()
        self._tail = b""
        self.end()

    def begin(self, size: int, layout: Layout = Layout.FETCH) -> None:
        self.end()
        self.layout, self.left, self._steps, self._tail = layout, size, STEPS[layout], NO_TAIL[layout]
        self._go(0)

    def end(self) -> None:
        self._phase = _Phase.OVER
        self.left = self._skip = self._number = self._shift = self._at = self._tags = 0
        self._items: list[int] = []

    @property
    def is_over(self) -> bool:
        return self._phase is _Phase.OVER

    @property
    def is_at_tail(self) -> bool:
        return self._phase is _Phase.TAIL

    @property
    def is_bad(self) -> bool:
        return self._phase is _Phase.BAD

    def advance(self, data: bytes | memoryview) -> int:
        at, end = 0, len(data)
        while self._phase < _Phase.TAIL:
            if self._skip > self.left:
                self._phase = _Phase.BAD
                break
            size = min(self._skip, end - at)
            at += size
            self._skip -= size
            self.left -= size
            if self._skip:
                break
            if self._phase is _Phase.END and self.left > len(self._tail):
                self._phase = _Phase.TAIL
                break
            if not self.left:
                self._phase = _Phase.BAD
                break
            if at == end:
                break
            self._take_byte(data[at])
            at += 1
        return at

    def _take_byte(self, byte: int) -> None:
        """Read one more byte of the current number, or of a tail that names nothing."""
        self.left -= 1
        if self._phase is _Phase.END:
            if byte != self._tail[-1 - self.left]:
                self._phase = _Phase.BAD
            elif not self.left:
                self._phase = _Phase.OVER
            return
        self._number |= (byte & 0x7F) << self._shift
        if byte < 0x80:
            number, is_padded = self._number, byte == 0 and self._shift > 0
            self._number = self._shift = 0
            if is_padded or number >> 32:
                self._phase = _Phase.BAD
            else:
                self._take_number(number)
        elif self._shift == 28:
            self._phase = _Phase.BAD
        else:
            self._shift += 7

    def _take_number(self, number: int) -> None:
        """Apply the number of the current step, and go to the next step."""
        step = self._steps[self._at]
        if self._phase is _Phase.TAG:
            self._phase = _Phase.TAG_SIZE
        elif self._phase is _Phase.TAG_SIZE:
            self._skip = number
            self._tags -= 1
            self._next_tag(step)
        elif step.number is Number.TAGS:
            self._tags = number
            self._next_tag(step)
        elif step.number is Number.BYTES:
            self._go(self._at + 1)
            self._skip += max(number - 1, 0)
        elif number > 1:
            self._items.append(number - 1)
            self._go(self._at + 1)
        elif number == 0 and step.number is Number.ARRAY:
            self._phase = _Phase.BAD
        else:
            self._go(step.partner + 1)

    def _next_tag(self, step: Step) -> None:
        """Go to the next tagged field. Behind the last one of an item, go to the next item."""
        if self._tags:
            self._phase = _Phase.TAG
            return
        if step.partner:
            self._items[-1] -= 1
            if self._items[-1]:
                self._go(step.partner + 1)
                return
            self._items.pop()
        self._go(self._at + 1)

    def _go(self, at: int) -> None:
        self._at = at
        if at == len(self._steps):
            self._phase = _Phase.END
        else:
            self._phase = _Phase.NUMBER
            self._skip += self._steps[at].skip
