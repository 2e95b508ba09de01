"""Jars of Delta for the installed pyspark, which are fetched once."""

import pyspark

from tsproxy.testing.jars import Dependency, fetch_jars

_SPARK = ".".join(pyspark.__version__.split(".")[:2])
_DELTA = tuple(
    Dependency("io.delta", name, "4.4.0", transitive=False)
    for name in (f"delta-spark_{_SPARK}_2.13", "delta-storage")
)
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def delta():
    """The paths of Delta's jars."""
    return paths(fetch_jars(f"spark-delta-{_SPARK}", _DELTA))


def paths(folder):
    """The jars of a folder, as `spark-submit --jars` takes them."""
    return ",".join(str(path) for path in sorted(folder.glob("*.jar")))
