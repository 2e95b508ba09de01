"""A batch written anew: other times and more headers, and nothing else, as independent readers see it."""

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from hypothesis import example, given
from hypothesis import strategies as st

from tests.wire.batches import CODECS, batch, record
from tsproxy.model.view import SessionLimits
from tsproxy.wire import record_batch, record_set
from tsproxy.wire.records import read_varint, read_varlong, varint
from tsproxy.wire.rewriting import rewrite

NOW_MS = 1_767_225_600_000
LIMITS = SessionLimits()
TIMES = st.integers(-(2**62), 2**62)
BYTES = st.none() | st.binary(max_size=40)


def opened(data):
    (found,) = record_set.scan(memoryview(data), 2).batches
    return found


def as_told(data):
    """Every record as aiokafka reads it: offset, time, key, value, headers."""
    reader = DefaultRecordBatch(data)
    assert reader.validate_crc()
    return [(each.offset, each.timestamp, each.key, each.value, each.headers) for each in reader]


@given(
    st.lists(st.tuples(TIMES, TIMES, BYTES, BYTES), min_size=1, max_size=8),
    st.sampled_from(sorted(CODECS.values())),
    st.booleans(),
)
def test_only_times_and_added_headers_differ(rows, codec, adds_headers):
    base = rows[0][0]
    records = [
        record(came - base, index, key, value, headers=[(b"own", b"1"), (b"none", None)][: index % 3])
        for index, (came, _, key, value) in enumerate(rows)
    ]
    attributes = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 41, "attributes": 0x10}
    data = batch([row[0] for row in rows], codec, records=records, **attributes)
    times = [row[1] for row in rows]
    added = (lambda _: ((b"when", b"%d" % NOW_MS),)) if adds_headers else None

    anew = rewrite(opened(data), LIMITS, times, added)

    came, goes = opened(data), opened(anew)
    kept = ("base_offset", "magic", "attributes", "last_offset_delta", "producer_id", "producer_epoch")
    kept += ("base_sequence", "records_count")
    assert [getattr(goes, name) for name in kept] == [getattr(came, name) for name in kept]
    assert goes.size_in_bytes == len(anew)
    assert (goes.base_timestamp, goes.max_timestamp) == (times[0], max(times))
    assert record_batch.crc_is_valid(goes)
    assert list(record_batch.read_records(goes, LIMITS).timestamps_ms) == times
    more = [("when", b"%d" % NOW_MS)] if adds_headers else []
    told = [(offset, key, value, list(headers)) for offset, _, key, value, headers in as_told(data)]
    assert [(o, k, v, list(h)) for o, _, k, v, h in as_told(anew)] == [
        (offset, key, value, headers + more) for offset, key, value, headers in told
    ]
    assert [each[1] for each in as_told(anew)] == times


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_the_same_times_give_the_same_records(codec):
    """More than one block of every codec."""
    data = batch([NOW_MS + n for n in range(3000)], codec, value=bytes(range(256)))

    anew = rewrite(opened(data), LIMITS, [NOW_MS + n for n in range(3000)])

    assert as_told(anew) == as_told(data)
    if codec == 0:
        assert anew == data


BROKEN = {
    "too few times": (batch([1, 2]), [5]),
    "no record": (batch([], records_count=0), []),
    "a length that lies": (batch([1], records=[record(length=9)]), [5]),
    "records that remain": (batch([1], records=[record(), record()], records_count=1), [5]),
    "cut short": (batch([1], records=[record()[:-2]]), [5]),
    "not its codec": (batch([1], codec=1, body=b"no gzip"), [5]),
}


@pytest.mark.parametrize(("data", "times"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_to_its_end_is_not_written_anew(data, times):
    assert rewrite(opened(data), LIMITS, times) is None


def test_no_more_is_decompressed_than_allowed():
    data = batch([NOW_MS], codec=1, value=bytes(1 << 20))

    assert rewrite(opened(data), SessionLimits(decompressed_batch=1 << 16), [5]) is None


@given(st.integers(-(2**63), 2**63 - 1))
@example(-64)
@example(64)
def test_varints_are_zigzag_and_as_short_as_can_be(value):
    written = varint(value)
    assert read_varlong(written, 0) == (value, len(written))
    assert len(written) == 1 or written[-1]


@pytest.mark.parametrize(("read", "longest"), [(read_varint, 5), (read_varlong, 10)])
def test_a_varint_that_goes_on_beyond_its_type_is_an_error(read, longest):
    assert read(b"\x80" * (longest - 1) + b"\0", 0) == (0, longest)
    with pytest.raises(ValueError, match=f"longer than {longest} bytes"):
        read(b"\x80" * longest + b"\0", 0)
