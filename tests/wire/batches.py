"""Record batches for tests, made field by field: any value may be wrong on purpose.

Written apart from `tsproxy.wire`, from the layout in `DefaultRecordBatch.java` and
`DefaultRecord.java`, so that a reader's mistake does not meet its own twin.
"""

import gzip
import struct

import cramjam
import google_crc32c
import lz4.frame
import zstandard

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}

XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def raw_snappy(data):
    return bytes(cramjam.snappy.compress_raw(data))


def xerial(*blocks):
    """Snappy as Kafka's Java producer frames it, one block for each of `blocks`."""
    compressed = [raw_snappy(block) for block in blocks]
    return XERIAL_HEADER + b"".join(struct.pack(">i", len(block)) + block for block in compressed)


COMPRESS = {
    NONE: bytes,
    GZIP: lambda data: gzip.compress(data, mtime=0),
    SNAPPY: xerial,
    LZ4: lambda data: lz4.frame.compress(data, block_linked=False, store_size=False),
    ZSTD: zstandard.ZstdCompressor().compress,
}


def unsigned(value, width=64):
    """Base-128, least group first; a negative value as `width` bits of two's complement."""
    value &= (1 << width) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value, width=0):
    """Zigzag, as Kafka writes lengths and deltas; `width` pads it to that many bytes, as no encoder would."""
    plain = unsigned((value << 1) ^ (value >> 63))
    padding = width - len(plain)
    return plain if padding <= 0 else plain[:-1] + bytes([plain[-1] | 0x80, *[0x80] * (padding - 1), 0])


def record(
    timestamp_delta=0,
    offset_delta=0,
    key=b"k",
    value=b"v",
    headers=(),
    length=None,
    width=0,
    *,
    length_off=0,
    headers_off=0,
    null_size=-1,
):
    """One record; `length` lies about its size where given. `width` is that of its own numbers. `…_off` is
    added to a true number. `null_size` stands for a key or value that is None; any negative number does."""
    body = b"".join(
        [
            b"\x00",
            varint(timestamp_delta, width),
            varint(offset_delta, width),
            _sized(key, null_size),
            _sized(value, null_size),
            varint(len(headers) + headers_off),
            *(_sized(name) + _sized(content) for name, content in headers),
        ]
    )
    return varint(len(body) + length_off if length is None else length, width) + body


def _sized(value, null_size=-1):
    return varint(null_size) if value is None else varint(len(value)) + value


def batch(timestamps_ms=(), codec=NONE, *, key=b"k", value=b"v", records=None, body=None, **header):
    """A v2 batch of one record for each timestamp, its CRC right unless `crc` says otherwise.

    `records` are encoded records in place of those made from timestamps, `body` is what stands after
    the header, already compressed. `header` overrides any field of the header; `length_off` and `crc_off` are
    added to the true ones.
    """
    base = header.pop("base_timestamp", timestamps_ms[0] if timestamps_ms else 0)
    if records is None:
        records = [record(wrap(t - base), i, key, value) for i, t in enumerate(timestamps_ms)]
    if body is None:
        body = COMPRESS[codec](b"".join(records))
    count = header.pop("records_count", len(records))
    checked = struct.pack(
        ">hiqqqhii",
        codec | header.pop("attributes", 0),
        header.pop("last_offset_delta", count - 1),
        base,
        header.pop("max_timestamp", max(timestamps_ms, default=base)),
        header.pop("producer_id", -1),
        header.pop("producer_epoch", -1),
        header.pop("base_sequence", -1),
        count,
    )
    checked += body
    start = struct.pack(
        ">qiibI",
        header.pop("base_offset", 0),
        header.pop("length", 9 + len(checked)) + header.pop("length_off", 0),
        header.pop("partition_leader_epoch", -1),
        header.pop("magic", 2),
        (header.pop("crc", google_crc32c.value(checked)) + header.pop("crc_off", 0)) & 0xFFFFFFFF,
    )
    assert not header, f"no such fields: {list(header)}"
    return start + checked


def wrap(value):
    """`value` as a Java long."""
    return (value + 2**63) % 2**64 - 2**63
