"""Files of gzip or zstandard without a name that says so. Spark reads them as a few unreadable lines.

A function of Python unpacks such a file as a whole, so the file has a limit. A file that is larger is one
unreadable line, which says that the file needs a name: Spark then reads it as it goes, whatever its size.

Plain Python and columns of Spark. The function is sent to the executors by value (`second_read`).
"""

import gzip
import io
import zlib
from typing import Any, Final

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

from spark_reports.log import damaged_files

_GZIP: Final = "1F8B08"
_ZSTANDARD: Final = "28B52FFD"
_PACKED_BYTES: Final = 8 << 20
"""The most bytes of such a file."""
_UNPACKED_BYTES: Final = 32 << 20
"""The most bytes that are in it. Spark holds them several times, and a driver has 1 GiB by default."""
_AT_ONCE_BYTES: Final = 1 << 16
_DAMAGED: Final = damaged_files.LINE
TOO_LARGE: Final = (
    f"(a packed file with more than {_PACKED_BYTES >> 20} MiB, or {_UNPACKED_BYTES >> 20} MiB unpacked, "
    "is not read under this name: name it .gz or .zst)"
)
NO_ZSTANDARD: Final = "(zstandard without .zst in the name needs pyarrow on Spark's executors)"


def is_packed(beginning: Column) -> Column:
    """True for the beginning of a packed file."""
    code = F.hex(beginning)
    return code.startswith(_GZIP) | code.startswith(_ZSTANDARD)


def paths(lines: DataFrame) -> list[str]:
    """The packed ones among the files of `lines`, which Spark reads as text: by content, since a file in
    another folder may have the same name."""
    packed = lines.where(is_packed(F.col("value"))).select(damaged_files.PATH)
    return [row[0] for row in packed.distinct().collect()]


def texts(reader: DataFrameReader, places: list[str], name: Column, packed: list[str]) -> DataFrame:
    """The lines of these files: `text`, `file`, `packing`."""
    files = reader.format("binaryFile").load(places).where(F.col(damaged_files.PATH).isin(packed))
    is_small = F.col("length") <= _PACKED_BYTES
    unpacked = F.udf(lines, "array<binary>", useArrow=False)("content").cast("array<string>")
    is_gzip = F.hex(F.substring("content", 1, 3)) == _GZIP
    packing = F.when(is_gzip, "(gzip) ").otherwise("(zstandard) ").alias("packing")
    small = files.where(is_small).select(F.explode(unpacked).alias("text"), name.alias("file"), packing)
    # Spark does not read the content of the others: a filter on the length comes before that.
    large = files.where(~is_small).select(
        F.lit(TOO_LARGE).alias("text"), name.alias("file"), F.lit("").alias("packing")
    )
    return small.unionByName(large)


def lines(content: bytes) -> list[bytes]:
    """The lines in the members of a packed file. If it is damaged, the last one says so."""
    unpacked, damage = bytearray(), []
    try:
        with _stream(content) as stream:
            # Unlike `read`, this returns what precedes the damage.
            while part := stream.read1(_AT_ONCE_BYTES):
                unpacked += part
                if len(unpacked) > _UNPACKED_BYTES:
                    return [TOO_LARGE.encode()]
    except ImportError:
        return [NO_ZSTANDARD.encode()]
    except (EOFError, OSError, zlib.error):
        damage = [_DAMAGED.encode()]
    return bytes(unpacked).split(b"\n") + damage


def _stream(content: bytes) -> Any:
    if content.startswith(bytes.fromhex(_GZIP)):
        return gzip.GzipFile(fileobj=io.BytesIO(content))
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.BufferReader(content), "zstd")
