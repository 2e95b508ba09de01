"""Frames and rows: tables (`grouping`) by Spark, the rows of a small frame, and a frame of a few rows."""

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.storagelevel import StorageLevel

from spark_reports.log.grouping import Grouping, How, Measure, Rows

_SQL: Final = {How.SUM: "sum", How.LEAST: "min", How.GREATEST: "max", How.COUNT: "count"}
"""The names by which Spark knows these measures."""


def rows(frame: DataFrame) -> Rows:
    """Everything in a small DataFrame, as dicts."""
    names = frame.columns
    return [dict(zip(names, row, strict=True)) for row in frame.collect()]


def frame_of(spark: SparkSession, some: Iterable[Mapping[str, Any]], ddl: str) -> DataFrame:
    """A frame of a few rows, with the columns of `ddl`. It is a literal, so no process of Python reads it."""
    names = [column.split()[0] for column in ddl.split(", ")]
    values = json.dumps([{name: row[name] for name in names} for row in some])
    return spark.range(1).select(F.inline(F.from_json(F.lit(values), f"array<struct<{ddl}>>")))


def kept(stack: ExitStack, frame: DataFrame) -> DataFrame:
    """`frame`, computed once and kept until `stack` is closed: in memory, or on disk if memory is small."""
    stack.callback(frame.persist(StorageLevel.MEMORY_AND_DISK).unpersist)
    return frame


def of_frame(grouping: Grouping, frame: DataFrame) -> DataFrame:
    """The table of a large frame, in any order."""
    measures = [_measured(measure).alias(name) for name, measure in grouping.measures.items()]
    return frame.groupBy(*grouping.keys).agg(*measures)


def _measured(measure: Measure) -> Column:
    """The measure as one text of SQL: PySpark asks Java three questions for each function that is called."""
    column = ", ".join(measure.columns) or "1"
    counted = column if measure.where is None else f"CASE WHEN {measure.where} THEN {column} END"
    name = _SQL[measure.how]
    return F.expr(f"coalesce(sum({counted}), 0)" if name == "sum" else f"{name}({counted})")


def first_per(frame: DataFrame, keys: tuple[str, ...], order: list[Column], count: int) -> DataFrame:
    """The first `count` rows of each group of `keys`, in this order."""
    window = Window.partitionBy(*keys).orderBy(*order)
    return frame.withColumn("place", F.row_number().over(window)).where(F.col("place") <= count).drop("place")
