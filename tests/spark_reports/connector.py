"""Jars for the installed pyspark: Spark's Kafka connector, and Delta. They are fetched once."""

import pyspark

from tsproxy.testing.jars import Dependency, fetch_jars

# The token provider is the same code since 4.0, and not on every mirror in each of its releases.
_KAFKA = (
    Dependency("org.apache.spark", "spark-sql-kafka-0-10_2.13", pyspark.__version__, transitive=False),
    Dependency("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", transitive=False),
    Dependency("org.apache.kafka", "kafka-clients", "3.9.2", transitive=False),
    Dependency("org.apache.commons", "commons-pool2", "2.13.1", transitive=False),
)
_SPARK = ".".join(pyspark.__version__.split(".")[:2])
_DELTA = tuple(
    Dependency("io.delta", name, "4.4.0", transitive=False)
    for name in (f"delta-spark_{_SPARK}_2.13", "delta-storage")
)
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def kafka():
    """The paths of the connector's jars, as `spark-submit --jars` takes them."""
    return paths(fetch_jars(f"spark-kafka-{pyspark.__version__}", _KAFKA))


def delta():
    """The paths of Delta's jars."""
    return paths(fetch_jars(f"spark-delta-{_SPARK}", _DELTA))


def paths(folder):
    """The jars of a folder, as `spark-submit --jars` takes them."""
    return ",".join(str(path) for path in sorted(folder.glob("*.jar")))
