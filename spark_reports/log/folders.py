"""Directories on any file system that Spark knows. All functions raise Java's errors.

Spark has no public way to delete, rename or write a file by its name, so Hadoop's classes do it. The file
systems of pyarrow would not do: they know neither the settings nor the login of the session.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def names(spark: "SparkSession", folder: str) -> list[str]:
    """The names of the files in a directory, in order; none if it does not exist."""
    files, path = place(spark, folder)
    return sorted(file.getPath().getName() for file in files.listStatus(path)) if files.exists(path) else []


def matches(spark: "SparkSession", glob: str) -> Sequence[Any]:
    """Java's facts about a path, or about those that a glob matches."""
    files, path = place(spark, glob)
    return files.globStatus(path) or ()


def delete(spark: "SparkSession", folder: str) -> None:
    """Delete a directory with all that is in it, if it exists."""
    files, path = place(spark, folder)
    files.delete(path, True)


def changed_ms(spark: "SparkSession", folder: str) -> int:
    """When a file below a directory was last changed; 0 if there is none. An object store knows no time of a
    directory."""
    files, path = place(spark, folder)
    found, newest_ms = files.listFiles(path, True), 0
    while found.hasNext():
        newest_ms = max(newest_ms, found.next().getModificationTime())
    return newest_ms


def place(spark: "SparkSession | None", *parts: str) -> tuple[Any, Any]:
    """The file system of a path, and the path there, as Java's objects. `parts`: a folder, a name in it.

    Raises ValueError without a session, in which only files of this machine can be read.
    """
    if spark is None:
        raise ValueError(f"only Spark knows the file system of {parts[0]}")
    context: Any = spark.sparkContext  # the way to Java's classes has no public name
    path = context._jvm.org.apache.hadoop.fs.Path(*parts)
    return path.getFileSystem(context._jsc.hadoopConfiguration()), path
