"""Single fields: their edges, their nulls, and what is rejected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial.readers import read_unsigned_varint

from tests.wire.batches import unsigned
from tests.wire.strategies import odd_texts
from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import DecodeError, Reader

flexible = pytest.mark.parametrize("is_flexible", [False, True], ids=["plain", "flexible"])

INTEGERS = {
    "int8": (put.int8, Reader.int8, 8),
    "int16": (put.int16, Reader.int16, 16),
    "int32": (put.int32, Reader.int32, 32),
    "int64": (put.int64, Reader.int64, 64),
}


@pytest.mark.parametrize(("write", "read", "bits"), INTEGERS.values(), ids=INTEGERS)
def test_integers_are_signed_and_big_endian_to_their_edges(write, read, bits):
    for value in (-(1 << bits - 1), -1, 0, 1, 127, (1 << bits - 1) - 1):
        data = write(value)
        assert data == value.to_bytes(bits // 8, "big", signed=True)
        assert read(Reader(data)) == value


@given(st.integers(0, 2**32 - 1))
def test_unsigned_varints_are_as_kio_reads_them(value):
    data = put.unsigned_varint(value)
    assert data == unsigned(value)
    assert read_unsigned_varint(data, 0)[0] == value
    reader = Reader(data + b"more")
    assert (reader.unsigned_varint(), reader.pos) == (value, len(data))


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("00", 0),
        ("7f", 127),
        ("8001", 128),
        ("8000", 0),
        ("8080808000", 0),
        ("ffffffff0f", 2**32 - 1),
        ("ffffffff7f", 2**32 - 1),
        ("8080808070", 0),
    ],
)
def test_an_unsigned_varint_need_not_be_minimal_and_drops_what_is_above_32_bits(data, value):
    """`ByteUtils.readUnsignedVarint`: bits of the fifth byte that an int has no room for are lost."""
    assert Reader(bytes.fromhex(data)).unsigned_varint() == value


@pytest.mark.parametrize("data", ["", "80", "80808080", "8080808080", "ffffffffff01"])
def test_an_unsigned_varint_that_is_cut_or_longer_than_five_bytes_is_rejected(data):
    with pytest.raises(DecodeError):
        Reader(bytes.fromhex(data)).unsigned_varint()


@flexible
@given(text=odd_texts)
def test_strings_keep_whatever_bytes_they_came_with(is_flexible, text):
    """A topic's name need not be UTF-8: what came is what is sent on."""
    raw = text.encode("utf-8", "surrogateescape")
    length = unsigned(len(raw) + 1) if is_flexible else len(raw).to_bytes(2, "big")
    data = put.string(text, is_flexible)
    assert data == length + raw
    reader = Reader(data + b"more")
    assert reader.string(is_flexible) == text
    assert reader.pos == len(data)


@flexible
def test_a_null_string_is_read_where_it_may_stand_and_rejected_elsewhere(is_flexible):
    data = put.string(None, is_flexible)
    assert data == (b"\x00" if is_flexible else b"\xff\xff")
    assert Reader(data).nullable_string(is_flexible) is None
    with pytest.raises(DecodeError, match="null"):
        Reader(data).string(is_flexible)


@flexible
@pytest.mark.parametrize("value", [None, b"", b"x", b"x" * 200])
def test_bytes_may_be_null_or_empty_which_is_not_the_same(is_flexible, value):
    data = put.nullable_bytes(value, is_flexible)
    reader = Reader(data + b"more")
    assert reader.nullable_bytes(is_flexible) == value
    assert reader.pos == len(data)


@flexible
@pytest.mark.parametrize("count", [None, 0, 1, 300])
def test_an_array_may_be_null_or_empty_which_is_not_the_same(is_flexible, count):
    data = put.array(count, is_flexible)
    assert Reader(data + bytes(300)).nullable_array(is_flexible) == count


def test_a_null_array_is_rejected_where_one_must_stand():
    with pytest.raises(DecodeError, match="null"):
        Reader(b"\xff\xff\xff\xff").array(is_flexible=False)


REJECTED = {
    "a string longer than what is left": lambda: Reader(b"\x00\x05abc").string(False),
    "a string of length -2": lambda: Reader(b"\xff\xfe").nullable_string(False),
    "a compact string above 32767": lambda: Reader(unsigned(32_769) + b"x" * 32_768).string(True),
    "bytes of length -2": lambda: Reader(b"\xff\xff\xff\xfe").nullable_bytes(False),
    "bytes longer than what is left": lambda: Reader(b"\x05abc").nullable_bytes(True),
    "an array of -2": lambda: Reader(b"\xff\xff\xff\xfe").nullable_array(False),
    "more elements than bytes": lambda: Reader(b"\x7f\xff\xff\xff" + bytes(9)).array(False),
    "more tags than bytes": lambda: Reader(b"\xff\xff\xff\xff\x0f").tags(True),
    "a tag longer than what is left": lambda: Reader(b"\x01\x00\x05abc").tags(True),
    "a negative skip": lambda: Reader(b"abc").skip(-1),
}


@pytest.mark.parametrize("read", REJECTED.values(), ids=REJECTED)
def test_what_is_not_what_it_claims_to_be_is_rejected(read):
    with pytest.raises(DecodeError):
        read()


def test_a_tag_section_is_kept_with_its_count_and_whatever_its_order():
    data = b"\x03" + b"\x05\x01a" + b"\x02\x00" + b"\x05\x01b"
    reader = Reader(data + b"more")
    assert reader.tags(is_flexible=True) == data
    assert reader.remaining == 4
    assert put.tags(data, is_flexible=True) == data
    assert put.tags(b"", is_flexible=True) == b"\x00"
    assert put.tags(data, is_flexible=False) == b""


def test_a_reader_ends_where_it_is_told():
    """A value inside a message must not be read past its own end."""
    reader = Reader(b"abcdef", 1, 3)
    assert (reader.remaining, bytes(reader.take(2)), reader.remaining) == (2, b"bc", 0)
    with pytest.raises(DecodeError):
        reader.take(1)
