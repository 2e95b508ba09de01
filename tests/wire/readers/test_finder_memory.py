"""The finder keeps nothing of a long record."""

from tests.wire.readers.long_record import MIB, TIMESTAMP_DELTA_MS, VALUE_BYTES, fed_with
from tests.wire.readers.test_finder import NOW_MS, rows
from tsproxy.model.records import Suspects
from tsproxy.wire import readers


def test_nothing_of_a_long_record_is_kept():
    finder = readers.Finder(NOW_MS, 1, Suspects(highest_ms=0), 1)
    assert fed_with(finder) < MIB
    assert rows(finder.finish()) == [(0, NOW_MS + TIMESTAMP_DELTA_MS, 0, -1, VALUE_BYTES)]
