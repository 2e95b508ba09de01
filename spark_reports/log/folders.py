"""Directories on any file system that Spark knows. All functions raise Java's errors."""

from typing import Any

from pyspark.sql import SparkSession


def exists(spark: SparkSession, folder: str) -> bool:
    files, path = _of(spark, folder)
    return bool(files.exists(path))


def names(spark: SparkSession, folder: str) -> list[str]:
    """The names of the files in a directory, in order; none if it does not exist."""
    files, path = _of(spark, folder)
    return sorted(each.getPath().getName() for each in files.listStatus(path)) if files.exists(path) else []


def delete(spark: SparkSession, folder: str) -> None:
    """Delete a directory with all that is in it, if it exists."""
    files, path = _of(spark, folder)
    files.delete(path, True)


def _of(spark: SparkSession, folder: str) -> tuple[Any, Any]:
    """The file system of a directory, and its path there, as Java's objects."""
    context: Any = spark.sparkContext  # the way to Java's classes has no public name
    path = context._jvm.org.apache.hadoop.fs.Path(folder)
    return path.getFileSystem(context._jsc.hadoopConfiguration()), path
