"""The number of files in which `compact` writes the lines that it reads: by their bytes.

Spark would write a file for each task that reads, and it has a task for each 32 small files: 96,000 files of
1,000 proxies became 3,000 files a day, a million a year. Here a file of the table has at most about 128 MiB,
and there are no more files than that limit needs, unless cores would have nothing to do.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import DataFrame

_FILE_BYTES: Final = 128 << 20
"""The most bytes of a file of the table, approximately."""
_TASK_BYTES: Final = 128 << 20
_TASK_FILES: Final = 200
"""A task is worth a core if it reads more bytes of JSON lines than this, or more files. It opens its files
one after the other."""

_EXPANSION: Final[Mapping[str, int]] = MappingProxyType({".gz": 12, ".zst": 15})
"""The bytes of JSON lines for a byte of a compressed file, approximately."""
_TABLE_EXPANSION: Final = 30
"""The bytes of JSON lines for a byte of a table of `compact`, approximately."""
_NAMES_SEEN: Final = 20

WHOLE_RUNS: Final = {"spark.sql.files.openCostInBytes": str(64 << 10)}
"""With this setting, Spark reads 128 MiB at a time even if the files are small: by default each file counts
for 4 MiB. Lines that are read together are sorted together."""


def files(lines: DataFrame) -> int:
    """The number of files for `lines`: JSON lines that are not read yet."""
    session: Any = lines.sparkSession
    cores = int(session.sparkContext.defaultParallelism)
    plan: Any = lines  # what Spark knows has no public name; the list stays in Java, since it may be long
    inputs = plan._jdf.inputFiles()
    total = int(str(plan._jdf.queryExecution().analyzed().stats().sizeInBytes()))
    return number(lines_bytes(inputs, total), len(inputs), cores)


def lines_bytes(files: Any, total: int) -> int:
    """The approximate bytes of JSON lines in files of `total` bytes. `files` is a Java array of their names.

    Some of the names show whether the files are compressed. Reading a hundred thousand names from Java is
    slow.
    """
    step = max(1, len(files) // _NAMES_SEEN)
    names = [files[number] for number in range(0, len(files), step)]
    factors = [_EXPANSION.get(name[name.rfind(".") :], 1) for name in names]
    return total * sum(factors) // len(factors) if factors else total


def number(lines_bytes: int, inputs: int, cores: int) -> int:
    """The number of files to write for `lines_bytes` of JSON lines in `inputs` files, with `cores` cores."""
    needed = -(-lines_bytes // (_TABLE_EXPANSION * _FILE_BYTES))
    worth = max(-(-lines_bytes // _TASK_BYTES), -(-inputs // _TASK_FILES))
    return max(1, needed, min(worth, cores))
