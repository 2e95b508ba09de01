"""Reads the one batch of a `records` field."""

import pytest

from tests.wire.batches import CODECS
from tsproxy.model.view import SessionLimits
from tsproxy.wire.record_batch import read_records
from tsproxy.wire.record_set import scan

NOW_MS = 1_767_225_600_000

each_codec = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)


def only_batch(data):
    (found,) = scan(memoryview(data), most=2).batches
    return found


def records_of(data, **limits):
    return read_records(only_batch(data), SessionLimits(**limits))
