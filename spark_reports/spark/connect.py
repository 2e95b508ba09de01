"""Spark Connect is refused: it gives a program only a part of a Spark that runs elsewhere.

spark_reports asks Spark for file systems, which Spark Connect does not offer.
Without this check, a run would end with a stack of Java's or a traceback.
"""

import os
from collections.abc import Mapping
from typing import Final

from spark_reports.exits import SparkUnavailableError

_REFUSAL: Final = (
    "Spark Connect is not supported ({found}): give a master of Spark itself with --master (local[*], "
    "spark://…, yarn), or start the command by spark-submit"
)
_VARIABLES: Final = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def require_none(master: str | None, environment: Mapping[str, str] = os.environ) -> None:
    """Raises SparkUnavailableError if a session would be one of Spark Connect. pyspark must be installed."""
    found = _asked_for(master, environment)
    if found is None:
        from pyspark.sql.utils import is_remote

        found = "pyspark-client has nothing else" if is_remote() else None
    if found is not None:
        raise SparkUnavailableError(_REFUSAL.format(found=found))


def _asked_for(master: str | None, environment: Mapping[str, str]) -> str | None:
    if master is not None and master.startswith("sc://"):
        return f"--master {master}"
    if environment.get("SPARK_API_MODE", "").lower() == "connect":
        return "SPARK_API_MODE is set"
    return next((f"{name} is set" for name in _VARIABLES if environment.get(name)), None)
