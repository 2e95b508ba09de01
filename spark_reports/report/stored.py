"""A rollup as its readers get it: its tables and the files of its days, by pyarrow, without Spark and Java.

A folder is on any file system that pyarrow knows: this machine, S3 (`s3a://` is `s3://` here), Google's and
Azure's stores, HDFS. A `daily` may replace a day while it is read. So the files are listed again afterwards,
and read again if they are other ones: an answer never holds a part of a day.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import quote

from spark_reports.errors import FailedError, UsageError
from spark_reports.report import files, kept_days
from spark_reports.report.groups import CLIENT, ROLLUP, TYPES
from spark_reports.report.history import DayFacts
from spark_reports.report.what_if import LEFT_OUT
from tsproxy.decisions.fields import FieldType

try:
    import pyarrow as pa
    from pyarrow import compute, dataset, fs

    from spark_reports.report.day import FOLDER, Day, from_text
    from spark_reports.report.table_source import TableSource, as_text
except ImportError as error:  # also of a pyarrow that lacks a part of itself
    raise UsageError(f"pyarrow cannot be loaded ({error}): pip install pyarrow") from None

_TRIES: Final = 3
_DAY: Final = "event_date"
_ARROW: Final[Mapping[FieldType, pa.DataType]] = {
    FieldType.TEXT: pa.dictionary(pa.int32(), pa.string()),
    FieldType.BOOL: pa.bool_(),
}
_TYPES: Final[Mapping[str, pa.DataType]] = {
    **{name: _ARROW[kind] for name, kind in {**TYPES, "side": FieldType.TEXT}.items() if kind in _ARROW},
    _DAY: pa.string(),
}
"""The types of columns that are no numbers. A column that the release of a day did not write is null there.
Names are read as numbers, as they are in the files: millions of texts would cost five times the CPU time."""

_Files = dict[str, tuple[int | None, int | None]]
"""The paths of files, each with its size and the instant of its last change."""


def producers(rollup: str, first: date, last: date) -> TableSource:
    """The columns of `trend.CLIENT_DAYS` of the days that are there. Raises as `_table`."""
    names = (*CLIENT, "records", "rejected_records")
    clients = _table(rollup, "producers", first, last, (_DAY, *names)).rename_columns(["day", *names])
    is_affected = compute.greater(clients["rejected_records"], 0)
    return TableSource(clients.append_column("affected", is_affected.cast(pa.int64())))


def days_of(rollup: str, name: str, first: date, last: date) -> set[str]:
    """The days of which a table holds rows. Raises as `_table`."""
    return set(compute.unique(_table(rollup, name, first, last, (_DAY,))[_DAY]).to_pylist())


def drift(rollup: str, first: date, last: date, topic: str | None, client_id: str | None) -> TableSource:
    """CLIENT, `side` and `bucket` with their batches and records. `topic`, `client_id`: globs; None for all.
    Raises as `_table`."""
    asked = (*CLIENT, "side", "bucket", "batches", "records", *(["topic"] if topic else []))
    rows = _table(rollup, "drift", first, last, asked)
    for column, glob in (("topic", topic), ("client_id", client_id)):
        if glob is not None:
            names = [name for name in compute.unique(rows[column]).to_pylist() if name is not None]
            fits = pa.array([name for name in names if fnmatchcase(name, glob)], pa.string())
            rows = rows.filter(compute.is_in(rows[column], fits))
    return TableSource(rows)


def day(rollup: str, asked: date) -> tuple[Day, int]:
    """A day as Spark left it, and when it read the log. Raises as `_table`, UsageError if no report of this
    day alone was made, and FailedError if a run was killed while it wrote the day."""
    names = (*ROLLUP.keys, *ROLLUP.measures)
    hours = _table(rollup, "hours", asked, asked, names)
    counters = pa.table({name: as_text(hours[name]) for name in names})
    names = ("topic", "side", "bucket", "batches", "records")
    drift = _table(rollup, "drift", asked, asked, names)
    buckets = drift.filter(compute.not_equal(drift["side"], LEFT_OUT))
    address = f"{rollup}/{FOLDER}/{asked}.json"
    with _said(address, kept_days.NO_ROLLUP):
        written = _text(*_place(address))
    try:
        return from_text(written, TableSource.of_rollup(counters), TableSource(buckets))
    except (KeyError, TypeError, ValueError) as error:
        raise FailedError(f"{address} cannot be read: {error}; run `daily` again") from error


def days(rollup: str, first: date, last: date) -> dict[str, DayFacts]:
    """`kept_days.read`, without Spark. Raises FailedError."""
    names = kept_days.names(first, last)
    with _said(rollup):
        system, root = _place(f"{rollup}/days")
        there = system.get_file_info(fs.FileSelector(root, allow_not_found=True))
        return kept_days.of_texts([_text(system, file.path) for file in there if file.base_name in names])


def text(address: str) -> str:
    """The text of a file. Raises UsageError if there is none, and FailedError."""
    with _said(address):
        return _text(*_place(address))


def _text(system: fs.FileSystem, path: str) -> str:
    with system.open_input_stream(path) as stream:
        return bytes(stream.read()).decode(errors="replace")


def _table(rollup: str, name: str, first: date, last: date, columns: Sequence[str]) -> pa.Table:
    """The columns of the days of a table that are there.

    Raises UsageError if no day was ever written, and FailedError for a damaged file, a store that
    does not answer, and days that are replaced while they are read, again and again.
    """
    folder = f"{rollup}/{name}"
    schema = pa.schema([(column, _TYPES.get(column, pa.int64())) for column in columns])
    names = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    with _said(folder, kept_days.NO_ROLLUP):
        system, root = _place(folder)
        for _ in range(_TRIES):
            before = _files(system, root, first, last)
            try:
                rows = dataset.dataset(
                    list(before),
                    schema=schema,
                    format=dataset.ParquetFileFormat(dictionary_columns=names),
                    filesystem=system,
                    partitioning=dataset.partitioning(pa.schema([(_DAY, pa.string())]), flavor="hive"),
                ).to_table()
            except FileNotFoundError:
                continue
            if _files(system, root, first, last) == before:
                return rows.unify_dictionaries()
    raise FailedError(f"{folder} is being written: ask again")


def _files(system: fs.FileSystem, root: str, first: date, last: date) -> _Files:
    """The Parquet files of the days. Names that begin with a dot or an underscore are of a `daily` at
    work. A folder within that of a day is a second copy of the day, of another `daily` at the same time."""
    versions = {}
    for file in system.get_file_info(fs.FileSelector(root, recursive=True)):
        folder, _, name = file.path.removeprefix(root).strip("/").partition("/")
        is_asked = f"{_DAY}={first}" <= folder <= f"{_DAY}={last}"
        if is_asked and file.is_file and not name.startswith((".", "_")) and "/" not in name:
            versions[file.path] = (file.size, file.mtime_ns)
    return versions


def _place(folder: str) -> tuple[fs.FileSystem, str]:
    """The file system of a folder or a file, and its path there."""
    here = files.local(folder)
    if here is not None:
        return fs.LocalFileSystem(), str(here.absolute())
    scheme, _, rest = folder.partition("://")
    known = "s3" if scheme == "s3a" else scheme
    system, path = fs.FileSystem.from_uri(f"{known}://{quote(rest, safe='/:@?&=')}")
    return system, path


@contextmanager
def _said(place: str, advice: str = "") -> Iterator[None]:
    """Errors of pyarrow as one sentence that names the place. `advice`: what to do if nothing is there."""
    try:
        yield
    except FileNotFoundError:
        raise UsageError(f"{place} does not exist{advice and '. '}{advice}") from None
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise FailedError(f"{place} cannot be read: {reason}") from error
