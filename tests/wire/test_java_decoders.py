"""Our decoders read the same bytes as any decoder of Kafka's Java classes, or reject the data.

If two decoders read different bytes from one batch, the proxy would judge other timestamps than the broker
stores.
"""

from functools import cache

import pytest

from tests.full_only import IS_FULL, variations
from tests.wire.batches import CODECS, COMPRESS, LZ4, ZSTD
from tests.wire.blobs import blobs
from tests.wire.java_decoders import VARIANTS, Variant, readings
from tsproxy.wire import codecs, one_shot

COUNT = 10_000 if IS_FULL else 150
BUDGET, WINDOW = 1 << 22, 8 << 20
COMPRESSED = [codec for codec in CODECS.values() if codec]
WRITTEN = [
    (codec, COMPRESS[codec](content))
    for codec in COMPRESSED
    for content in (b"a", bytes(300), bytes(range(256)) * 700)
]


NEWEST = [variant for variant in VARIANTS if variant.version == "4.4.0"]
each_variant = pytest.mark.parametrize(
    "variant",
    variations("decoders of an older release", VARIANTS, but=NEWEST),
    ids=lambda each: f"{each.version}-{each.name}",
)


@cache
def drawn() -> list[tuple[int, bytes]]:
    """When a test asks for them: they take seconds."""
    return [(codec, blob) for codec in COMPRESSED for blob in blobs(codec, 2026, COUNT)]


@cache
def theirs(variant: Variant) -> list[set[bytes | None]]:
    """One start of Java for each variant."""
    return readings(variant, drawn() + WRITTEN)


def ours(codec: int, blob: bytes) -> bytes | None:
    try:
        return codecs.decompress(codec, memoryview(blob), BUDGET, WINDOW)
    except (codecs.CodecError, codecs.WindowError, codecs.BudgetError):
        return None


@pytest.mark.broker  # for its jars
@each_variant
def test_a_java_decoder_reads_what_ours_reads_or_no_more_than_its_beginning(variant):
    """A beginning is no danger: a batch says how many records it has, and a broker that finds fewer
    rejects it."""
    for number, ((codec, blob), found) in enumerate(zip(drawn() + WRITTEN, theirs(variant), strict=True)):
        expected = ours(codec, blob)
        if expected is not None:
            others = {each for each in found if each is not None and not expected.startswith(each)}
            assert not others, (number, codec, blob.hex())
            quick = one_shot.decompressed(codec, blob, 1 << 20, WINDOW)
            assert quick in (None, expected), (number, codec, blob.hex())


@pytest.mark.broker
@each_variant
def test_what_a_compressor_writes_all_read_alike(variant):
    for (codec, blob), found in zip(WRITTEN, theirs(variant)[len(drawn()) :], strict=True):
        assert ours(codec, blob) is not None
        assert found <= {ours(codec, blob)}


@pytest.mark.broker
def test_what_is_drawn_shows_where_java_decoders_differ():
    """Otherwise the comparison would say little: some read nothing, or other bytes."""
    differ = {
        codec
        for variant in (VARIANTS if IS_FULL else NEWEST)
        for (codec, _), found in zip(drawn(), theirs(variant), strict=False)
        if len(found) > 1
    }
    assert {LZ4, ZSTD} <= differ
