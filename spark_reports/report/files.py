"""The files of a report. A reader sees a whole file or none.

A file is written as a draft with a hidden name, and then renamed. A process that is killed leaves its draft
behind. Who writes into the folder next removes drafts that are older than `DRAFT_LASTS_S`.
"""

import errno
import fcntl
import json
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, cast

from spark_reports.errors import FailedError
from spark_reports.log import folders
from spark_reports.report.shape import SHAPE_VERSION, Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL: Final = "file:/"
_DRAFTS: Final = ".*.draft"
DRAFT_LASTS_S: Final = 3_600
"""No process takes so long to write a file: the draft is one of a process that was killed."""
MAX_FILES: Final = 400
"""The most files that `read_texts` reads: those of a year of days, and some more."""


def local(folder: str) -> Path | None:
    """`folder` as a directory of this machine; None if it is on another file system (`s3a://…`)."""
    if folder.startswith(_LOCAL):
        return Path("/", folder.removeprefix(_LOCAL).lstrip("/"))
    return None if "://" in folder else Path(folder)


def require_writable(folder: str) -> None:
    """Raises OSError if `folder` is on this machine, and can be neither written nor made."""
    path = local(folder)
    if path is None:
        return
    nearest = next((place for place in (path, *path.absolute().parents) if place.exists()), Path("/"))
    if not nearest.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(nearest))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(nearest))


@contextmanager
def alone(places: Iterable[str]) -> Iterator[None]:
    """Inside the block, no other run writes to these folders, if they are on this machine. They are made.

    The system locks a folder for as long as its process lives: a run that was killed stops no other one. An
    object store has no such lock. Raises FailedError if another run is at work.
    """
    with ExitStack() as stack:
        for folder in sorted({here.resolve() for place in places if (here := local(place)) is not None}):
            folder.mkdir(parents=True, exist_ok=True)
            opened = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, opened)
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FailedError(f"{folder}: another run writes there: run this one after it") from None
        yield


def write_far(spark: "SparkSession | None", folder: str, name: str, text: str) -> None:
    """Write `text` as UTF-8 to a folder on any file system that Spark knows. Raises Java's errors.

    It is written under another name and then renamed. Not every file system can replace a file, so for a
    moment there may be neither the old file nor the new one.
    """
    files, place = folders.place(spark, folder, name)
    _, temporary = folders.place(spark, folder, _draft_of(name))
    stream = files.create(temporary, True)
    try:
        stream.write(text.encode())
    finally:
        stream.close()
    files.delete(place, False)
    if not files.rename(temporary, place):
        raise OSError(f"{temporary.toString()} could not be renamed to {name}")


def write(spark: "SparkSession | None", folder: str, name: str, text: str) -> None:
    """Write a file into a folder, on this machine or on another file system."""
    here = local(folder)
    if here is None:
        write_far(spark, folder, name, text)
        _remove_old_drafts_far(spark, folder)
    else:
        write_text(here / name, text)


def read_texts(spark: "SparkSession", folder: str, names: Collection[str] = ()) -> list[str]:
    """The texts of the files `*.json` of a folder, of those with one of these names if there are names: at
    most the last MAX_FILES by name. Empty if the folder does not exist."""
    here = local(folder)
    there = _names(spark, folder, "*.json") if here is None else [path.name for path in here.glob("*.json")]
    chosen = sorted(name for name in there if not names or name in names)[-MAX_FILES:]
    if here is not None:
        return [(here / name).read_text(encoding="utf-8", errors="replace") for name in chosen]
    paths = [f"{folder}/{name}" for name in chosen]
    return [row[0] for row in spark.read.text(paths, wholetext=True).collect()] if paths else []


@contextmanager
def copied_here(spark: "SparkSession", folder: str, names: Iterable[str]) -> Iterator[str]:
    """A folder on this machine with those of these names of `folder` that exist: itself, or a copy that lasts
    as long as the block."""
    if local(folder) is not None:
        yield folder
        return
    with TemporaryDirectory() as copy:
        for name in names:
            files, place = folders.place(spark, folder, name)
            if files.exists(place):
                files.copyToLocalFile(False, place, folders.place(spark, f"file://{copy}", name)[1], True)
        yield copy


def read_folders(spark: "SparkSession | None", folder: str, name: str) -> dict[str, str]:
    """The texts of the files of one name in the folders of a folder, by the names of these folders."""
    here = local(folder)
    if here is not None:
        found_here = here.glob(f"*/{name}")
        return {path.parent.name: path.read_text(encoding="utf-8", errors="replace") for path in found_here}
    _, matching = _found(spark, folder, f"*/{name}")
    paths = [file.getPath() for file in matching]
    names = [path.toString() for path in paths]
    texts = spark.read.text(names, wholetext=True) if spark is not None and paths else None
    rows = texts.selectExpr("input_file_name() path", "value").collect() if texts is not None else []
    return {row["path"].split("/")[-2]: row["value"] for row in rows}


def _names(spark: "SparkSession | None", folder: str, glob: str) -> list[str]:
    """The names of the files of a folder on a file system that Spark knows."""
    _, matching = _found(spark, folder, glob)
    return [file.getPath().getName() for file in matching]


def _found(spark: "SparkSession | None", folder: str, glob: str) -> tuple[Any, Iterable[Any]]:
    """A file system that Spark knows, and its files of these names in a folder, as Java's objects."""
    files, path = folders.place(spark, folder, glob)
    return files, files.globStatus(path) or ()


def _draft_of(name: str) -> str:
    return f".{name}.{os.getpid()}.draft"


def _remove_old_drafts(folder: Path) -> None:
    for draft in folder.glob(_DRAFTS):
        with suppress(FileNotFoundError):
            if time.time() - draft.lstat().st_mtime > DRAFT_LASTS_S:
                draft.unlink()


def _remove_old_drafts_far(spark: "SparkSession | None", folder: str) -> None:
    files, drafts = _found(spark, folder, _DRAFTS)
    for draft in drafts:
        if time.time() - draft.getModificationTime() / 1000 > DRAFT_LASTS_S:
            files.delete(draft.getPath(), False)


def read_far(spark: "SparkSession", address: str) -> str:
    """The text of a file on any file system that Spark knows. Raises AnalysisException if there is none."""
    spark.read.text(address)
    return read_if_there(spark, *address.rsplit("/", 1)) or ""


def read_if_there(spark: "SparkSession", folder: str, name: str) -> str | None:
    """The text of a file in a folder, on this machine or on another file system; None if there is none.

    Spark's own reader would pass over a name that begins with `_` or a dot.
    """
    with copied_here(spark, folder, [name]) as copy:
        path = (local(copy) or Path(copy)) / name
        return path.read_text(encoding="utf-8") if path.exists() else None


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`, and make its directory if it is missing. Raises OSError."""
    _replace_text(path, text)
    _remove_old_drafts(path.parent)


def _replace_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(_draft_of(path.name))
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def report_of(text: str, path: str) -> Report:
    """The report in `text`, which `shape.to_json` made. Raises FailedError, which names `path`."""
    try:
        report = json.loads(text)
    except ValueError as error:
        raise FailedError(f"{path} is not JSON: {error}") from error
    if not isinstance(report, dict) or report.get("report") != "daily":
        raise FailedError(f"{path} is JSON, but not a report made by spark_reports")
    if report.get("version") != SHAPE_VERSION:
        raise FailedError(
            f"{path} is a report of version {report.get('version')}, and this program knows {SHAPE_VERSION}"
        )
    return cast(Report, report)
