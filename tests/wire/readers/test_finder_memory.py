"""The native finder keeps nothing of a long record. The Python version keeps all of it."""

import tracemalloc

import pytest

from tests.wire.readers.byte_strings import varint
from tests.wire.readers.test_finder import NOW_MS, rows
from tests.wire.readers.variants import VARIANTS, name_of
from tsproxy.model.records import Suspects

MIB = 1 << 20


@pytest.mark.parametrize("variant", [each for each in VARIANTS if each.NAME != "python"], ids=name_of)
def test_nothing_of_a_long_record_is_kept(variant):
    size = 64 * MIB
    head, piece = b"\x00" + varint(7) + varint(0) + varint(-1) + varint(size), bytes(MIB)
    finder = variant.Finder(NOW_MS, 1, Suspects(highest_ms=0), 1)
    finder.feed(varint(len(head) + size + 1) + head)
    tracemalloc.start()
    for _ in range(size // MIB):
        finder.feed(piece)
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    finder.feed(varint(0))
    assert rows(finder.finish()) == [(0, NOW_MS + 7, 0, -1, size)]
    assert most_bytes < MIB
