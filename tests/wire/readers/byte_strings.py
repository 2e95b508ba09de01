"""Hypothesis strategies for the plain records of a batch: right, nearly right, and garbage."""

from hypothesis import strategies as st

from tests.wire.batches import record
from tsproxy.model.kafka import LONG_MAX, LONG_MIN

_edge_longs = st.sampled_from([LONG_MIN, LONG_MIN + 1, -2, -1, 0, 1, 63, 64, 8191, 8192, LONG_MAX])
longs = _edge_longs | st.integers(-10_000, 10_000) | st.integers(LONG_MIN, LONG_MAX)
_payloads = (
    st.none() | st.binary(max_size=20) | st.integers(50, 70).map(bytes) | st.integers(8180, 8200).map(bytes)
)

good_records = st.builds(
    record,
    timestamp_delta=longs,
    offset_delta=st.integers(0, 300) | st.integers(-(2**31), 2**31 - 1),
    key=_payloads,
    value=_payloads,
    headers=st.lists(st.tuples(st.binary(max_size=70), _payloads), max_size=3).map(tuple),
    width=st.sampled_from([0, 0, 0, 2, 5]),
)

_ends_of_varints = st.sampled_from([b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff" * 5, b"\xff" * 10])


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Good records with one place overwritten, cut out or doubled."""
    data = b"".join(draw(st.lists(good_records, min_size=1, max_size=4)))
    start = draw(st.integers(0, len(data)))
    end = min(len(data), start + draw(st.integers(0, 3)))
    return data[:start] + draw(_ends_of_varints | st.just(b"") | st.binary(max_size=4)) + data[end:]


@st.composite
def alike(draw: st.DrawFn) -> bytes:
    """Many records as long as each other, of which a single bit may then be turned."""
    step, value = draw(st.sampled_from([0, 1, 7, 100, 5_000])), bytes(draw(st.integers(0, 70)))
    key = draw(st.none() | st.integers(0, 70).map(bytes))
    first, records = draw(st.sampled_from([0, 60, 120, 8_190])), draw(st.integers(5, 40))
    starts, data = [], bytearray()
    for number in range(records):
        starts.append(len(data))
        data += record(number * step, first + number, key, value)
    if draw(st.booleans()):
        place = draw(st.sampled_from(starts)) + draw(st.integers(-1, 12) | st.just(8 + len(key or b"")))
        data[place % len(data)] ^= 1 << draw(st.integers(0, 7))
    return bytes(data)


plain_records = (
    st.lists(good_records, max_size=6).map(b"".join) | alike() | damaged() | st.binary(max_size=60)
)
