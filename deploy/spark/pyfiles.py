"""Makes spark_reports-pyfiles.zip: all that `spark-submit --py-files` needs if only pyspark is installed.

    python -m deploy.spark.pyfiles dist/spark_reports-pyfiles.zip

It also contains the modules of tsproxy that spark_reports imports; they need only the standard library. Spark
puts a `.zip` of `--py-files` on Python's path, but not a wheel. Equal sources give equal bytes.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

_ROOT: Final = Path(__file__).parents[2]
_PACKAGES: Final = ("spark_reports", "tsproxy/decisions", "tsproxy/model")
_SUFFIXES: Final = (".py", ".css", ".properties")


def make(archive: Path) -> Path:
    """Write the archive and return its path."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(archive, "w", ZIP_DEFLATED) as written:
        for path in sorted(_files()):
            entry = ZipInfo(path.relative_to(_ROOT).as_posix())
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            written.writestr(entry, path.read_bytes())
    return archive


def _files() -> Iterator[Path]:
    yield _ROOT / "tsproxy" / "__init__.py"
    for package in _PACKAGES:
        yield from (path for path in (_ROOT / package).rglob("*") if path.suffix in _SUFFIXES)


if __name__ == "__main__":
    sys.stdout.write(f"{make(Path(sys.argv[1]))}\n")
