"""The end of a Fetch or ShareFetch answer, in Python, from the whole answer."""

from tsproxy.wire.readers.streamed import NO_TAIL, STEPS, Layout, Number

_MAX_NUMBER_BYTES = 5


def fetch_end(whole: bytes | bytearray, layout: Layout) -> int | None:
    """The position of the tail that names brokers. It is the answer's end if the answer names none, and None
    if the bytes do not fit the layout."""
    try:
        end = _end_of_steps(whole, layout)
    except (IndexError, ValueError):
        return None
    rest, tail = bytes(whole[end:]), NO_TAIL[layout]
    if len(rest) > len(tail):
        return end
    return len(whole) if rest and tail.endswith(rest) else None  # a tail cut at its front names nothing, too


def _end_of_steps(whole: bytes | bytearray, layout: Layout) -> int:
    steps, items, at, pos = STEPS[layout], [], 0, 0
    while at < len(steps):
        step = steps[at]
        number, pos = _number(whole, pos + step.skip)
        at += 1
        if step.number is Number.BYTES:
            pos += max(number - 1, 0)
        elif step.number is Number.TAGS:
            for _ in range(number):
                _, pos = _number(whole, pos)
                size, pos = _number(whole, pos)
                pos += size
            if step.partner:
                items[-1] -= 1
                if items[-1]:
                    at = step.partner + 1
                else:
                    items.pop()
        elif number > 1:
            items.append(number - 1)
        elif number == 0 and step.number is Number.ARRAY:
            raise ValueError("null for an array")
        else:
            at = step.partner + 1
    return pos


def _number(whole: bytes | bytearray, pos: int) -> tuple[int, int]:
    """An unsigned varint of 32 bits, and the position after it."""
    number = 0
    for index in range(_MAX_NUMBER_BYTES):
        byte = whole[pos + index]
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if (byte == 0 and index) or number >> 32:
                raise ValueError("padded or too large")
            return number, pos + index + 1
    raise ValueError("longer than five bytes")
