"""RFC 8878, 3.1.1.5: an offset of zstd may name one of the three latest, and they move."""

import pytest

from tests.wire.readers.reference.zstd import _offset

OFFSETS = {
    "a new one": (4 + 3, 1, 4, [4, 10, 20]),
    "the latest": (1, 1, 10, [10, 20, 30]),
    "the second": (2, 1, 20, [20, 10, 30]),
    "the third": (3, 1, 30, [30, 10, 20]),
    "without literals the second": (1, 0, 20, [20, 10, 30]),
    "without literals the third": (2, 0, 30, [30, 10, 20]),
    "without literals the latest less one": (3, 0, 9, [9, 10, 20]),
}


@pytest.mark.parametrize(("value", "literals", "offset", "latest"), OFFSETS.values(), ids=OFFSETS)
def test_an_offset_and_those_that_are_the_latest_then(value, literals, offset, latest):
    repeated = [10, 20, 30]
    assert _offset(value, literals, repeated) == offset
    assert repeated == latest
