"""Frames and rows: tables (`grouping`) by Spark, the rows of a small frame, and a frame of a few rows."""

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses
from pyspark.storagelevel import StorageLevel

from spark_reports.log.grouping import Grouping, How, Measure, Rows


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


def of_frame(grouping: Grouping, frame: DataFrame, count: int | None = None) -> DataFrame:
    """The table of a large frame. `count`: the number of rows, at most."""
    chosen = frame if grouping.where is None else frame.where(grouping.where)
    measures = [_measured(measure).alias(name) for name, measure in grouping.measures.items()]
    table = chosen.groupBy(*grouping.keys).agg(*measures)
    if grouping.having is not None:
        table = table.where(F.col(grouping.having) > 0)
    if count is None:
        return table
    order = [*[F.desc(name) for name in grouping.order], *[F.asc_nulls_first(key) for key in grouping.keys]]
    if grouping.per:
        return first_per(table, grouping.per, order, count)
    return table.orderBy(*order).limit(count)


def _measured(measure: Measure) -> Column:
    """The measure as one text of SQL: PySpark asks Java three questions for each function that is called."""
    columns = ", ".join(measure.columns) or "1"
    column = f"struct({columns})" if len(measure.columns) > 1 else columns
    counted = column if measure.where is None else f"CASE WHEN {measure.where} THEN {column} END"
    match measure.how:
        case How.SUM:
            return F.expr(f"coalesce(sum({counted}), 0)")
        case How.LEAST:
            return F.expr(f"min({counted})")
        case How.GREATEST:
            return F.expr(f"max({counted})")
        case How.COUNT:
            return F.expr(f"count({counted})")
        case How.DISTINCT:
            return F.expr(f"count(DISTINCT {counted})")


def first_per(frame: DataFrame, keys: tuple[str, ...], order: list[Column], count: int) -> DataFrame:
    """The first `count` rows of each group of `keys`, in this order."""
    window = Window.partitionBy(*keys).orderBy(*order)
    return frame.withColumn("place", F.row_number().over(window)).where(F.col("place") <= count).drop("place")
