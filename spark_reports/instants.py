"""Instants of the log as numbers."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

_WITHOUT_ZONE: Final = len("2026-11-20T10:00:00.086")


def instant_ms(name: str) -> Column:
    """Of a column of texts as the log writes them, in ms since 1970; null where one is none.

    Without the Z, which says what the session's time zone says as well: to know a zone, Spark asks two
    regular expressions, at each line.
    """
    return F.unix_millis(F.substring(name, 1, _WITHOUT_ZONE).try_cast("timestamp"))
