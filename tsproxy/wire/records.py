"""The varints of a v2 batch's records, and the layout of one record.

Source: `DefaultRecord.java`, `ByteUtils.java`. A record is length varint, attributes int8,
timestamp_delta varlong, offset_delta varint, key, value, headers. Varints are zigzag, with the least
significant group first, in at most 5 bytes (varlong: 10). Longer ones are an error.

Records of an uncompressed batch must fill their declared length exactly. Records of a compressed batch are
read as brokers read them: keys, values and headers are skipped, and the declared length is not compared.

A client chooses how many records and headers a batch has. So only `readers` walk them.
"""

from typing import Final

_MASK: Final = (1 << 64) - 1

UNSIGNED: Final = 0xFFFFFFFF
"""Makes a size an int without its sign: a negative one is then above all others."""


def read_varint(data: bytes, pos: int) -> tuple[int, int]:
    """The value and the position after it. Bits above 31 are dropped in the fifth byte, as in Java's int."""
    byte = data[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        pos += 1
        byte = data[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= UNSIGNED
            return (value >> 1) ^ -(value & 1), pos + 1
    raise ValueError("varint longer than 5 bytes")


def read_varlong(data: bytes, pos: int) -> tuple[int, int]:
    """The value and the position after it. Only the lowest bit of the tenth byte is used."""
    byte = data[pos]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), pos + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28, 35, 42, 49, 56, 63):
        pos += 1
        byte = data[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= _MASK
            return (value >> 1) ^ -(value & 1), pos + 1
    raise ValueError("varlong longer than 10 bytes")


def varint(value: int) -> bytes:
    """`value` of 64 bits as a zigzag varint, with the least significant group first."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
