"""The names of Java's classes that PySpark looks up again for each function of a column.

Each lookup is a round trip. For a short name like `functions`, Java also searches all jars of Spark in vain
before it tries the packages that PySpark has imported. With many small queries, such lookups took a fifth of
Java's CPU, and a twentieth in the report of a small day. py4j looks up a name only if the Python object has
no such attribute, so the answers are kept as attributes.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FUNCTIONS: Final = ("col", "lit", "coalesce", "when", "not", "substring", "concat_ws")
_NAMES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "functions": _FUNCTIONS,
        "org.apache.spark.sql.functions": _FUNCTIONS,
        "PythonUtils": ("toSeq",),
    }
)
"""Class -> the methods by which PySpark calls Java most often. The other methods cost a lookup each."""


def keep(session: "SparkSession") -> None:
    """Look up the names once, for all sessions of this process."""
    jvm: Any = session._jvm
    for name, methods in _NAMES.items():
        of_java = getattr(jvm, name)
        for method in methods:
            setattr(of_java, method, getattr(of_java, method))
        setattr(jvm, name, of_java)
