"""Four zeros in a row are found wherever they stand, and three are not: at each place of a buffer, at each
address that vectors make a difference of, at the borders of chunks, between other zeros."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsproxy.wire.readers import holds_zeros

ADDRESSES = range(17)
BACKGROUNDS = [b"\x01", b"\xff", b"\x80", b"\x00\x01", b"\x01\x00", b"\x00\x00\x01", b"\x00\x00\x00\x01"]
SIZES = [*range(12), 61, 127, 128, 129, 130, 131, 145, 146, 147, 148, 260, 420]


def moved(data, address):
    """`data` so many bytes behind a multiple of 16, which is where CPython's `bytes` begin."""
    return memoryview(bytes(address) + data + bytes(8))[address : address + len(data)]


@pytest.mark.parametrize("background", BACKGROUNDS, ids=bytes.hex)
def test_a_run_is_found_at_each_place(background):
    for size in SIZES:
        around = (background * size)[:size]
        for at in range(size - 3):
            for run in (3, 4):
                data = bytearray(around)
                data[at : at + run] = bytes(run)
                for end in (at - 1, at + run):
                    if 0 <= end < size:
                        data[end] = 1
                found = holds_zeros(moved(bytes(data), at % 17))
                assert found == (run == 4), (size, at)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_run_is_found_whatever_the_buffers_address(address):
    for at in range(300):
        for run in (3, 4):
            data = b"\x01" * at + bytes(run) + b"\x01" * (300 - at)
            assert holds_zeros(moved(data, address)) == (run == 4), at


@given(
    seed=st.integers(0, 2**32),
    size=st.integers(0, 1_500),
    share=st.sampled_from([0, 0.01, 0.1, 0.3, 0.5]),
    address=st.sampled_from(ADDRESSES),
)
def test_any_bytes_hold_zeros_if_there_are_four(seed, size, share, address):
    random = Random(seed)
    data = bytes(0 if random.random() < share else random.randint(1, 255) for _ in range(size))
    assert holds_zeros(moved(data, address)) == (bytes(4) in data)
