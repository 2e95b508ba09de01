"""`readings`: the output of the decoders in Kafka's own classes for compressed data.

It uses the jars of each version of Kafka, with and without their native code. Only lz4 works without native
code: zstd-jni never did, and snappy-java no longer does.
"""

import os
import struct
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.wire.batches import GZIP, LZ4, SNAPPY, ZSTD
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.java import find_java

PROGRAM = Path(__file__).with_name("Decoders.java")


@dataclass(frozen=True, slots=True)
class Variant:
    """One set of decoders: Kafka's version, lz4-java's name for itself, Java's options for it, the codecs."""

    version: str
    name: str
    options: tuple[str, ...]
    codecs: tuple[int, ...]


BUFFERS = "org.apache.kafka.common.utils.BufferSupplier"
BUFFERS_SINCE_4_4 = "org.apache.kafka.common.utils.internals.BufferSupplier"

NOWHERE = f"-Djava.io.tmpdir={os.devnull}/none"
"""The folder where a library unpacks its native code. It does not exist."""
_ALL = (GZIP, SNAPPY, LZ4, ZSTD)
VARIANTS = (
    Variant("3.9.1", "LZ4Factory:JNI", (), _ALL),
    Variant("3.9.1", "LZ4Factory:JavaUnsafe", (NOWHERE,), (LZ4,)),
    Variant("3.9.1", "LZ4Factory:JavaSafe", (NOWHERE, "-Dos.arch=unheard-of"), (LZ4,)),
    Variant("4.4.0", "LZ4Factory:JNI", (), _ALL),
    Variant("4.4.0", "LZ4Factory:JavaSafe", (NOWHERE,), (LZ4,)),
)


def readings(variant: Variant, blobs: Sequence[tuple[int, bytes]]) -> list[set[bytes | None]]:
    """For each (codec, blob) all that comes out, None among it for an error; none where the variant has no
    such codec."""
    asked = [(codec, blob) for codec, blob in blobs if codec in variant.codecs]
    told = struct.pack(">i", len(asked))
    told += b"".join(struct.pack(">bi", codec, len(blob)) + blob for codec, blob in asked)
    with tempfile.TemporaryDirectory() as folder:
        out = memoryview(_run(variant, told, Path(folder, PROGRAM.name)))
    name_end = 2 + int.from_bytes(out[:2], "big")
    assert bytes(out[2:name_end]).decode() == variant.name
    found, pos = [], name_end
    for codec, _ in blobs:
        each: set[bytes | None] = set()
        if codec in variant.codecs:
            count, pos = int.from_bytes(out[pos : pos + 4], "big"), pos + 4
            for _ in range(count):
                size = int.from_bytes(out[pos : pos + 4], "big", signed=True)
                end = pos + 4 + max(0, size)
                each.add(None if size < 0 else bytes(out[pos + 4 : end]))
                pos = end
        found.append(each)
    return found


def _run(variant: Variant, told: bytes, program: Path) -> bytes:
    jars = fetch_kafka_jars(variant.version)
    (clients,) = jars.glob("kafka-clients-*.jar")
    text = PROGRAM.read_text()
    if BUFFERS_SINCE_4_4.replace(".", "/") + ".class" in zipfile.ZipFile(clients).namelist():
        text = text.replace(BUFFERS, BUFFERS_SINCE_4_4)
    program.write_text(text)
    command = [
        find_java().executable,
        *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *variant.options,
        *("-cp", f"{jars}/*", program),
    ]
    return subprocess.run(command, input=told, capture_output=True, check=True).stdout
