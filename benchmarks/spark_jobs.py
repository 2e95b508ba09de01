"""The Spark jobs that `benchmarks.reports` measures, each in a process of its own."""

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from deploy.spark import pyfiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DAY: Final = date(2026, 11, 20)
MASTER: Final = "local[2]"
QUESTION: Final = "duckdb"
SUBMITTED: Final = "submitted"
_BRIEF: Final = ("floor", "daily-2k", "daily-2k-rollup", "daily-100k", "daily-100k-x10")
"""Jobs that run in a JVM as their commands start it. The others have a JVM for much data."""
_SPINS: Final = 30_000_000
_TASK_ENDED: Final = '"Event":"SparkListenerTaskEnd"'
_ROOT: Final = Path(__file__).parents[1]
_REPORTS: Final = _ROOT / "docs" / "guide" / "reports.md"


# --- DuckDB ----------------------------------------------------------------------------------------------


def question(table: Path) -> str:
    """The query of docs/guide/reports.md for DuckDB, with the lines that `compact` wrote to `table`."""
    page = _REPORTS.read_text(encoding="utf-8")
    [asked] = re.findall(r"(?:^    .*read_parquet.*\n)(?:^    .*\n)+", page, re.MULTILINE)
    return " ".join(asked.split()).replace("'lines/", f"'{table}/")


def answer(table: Path, threads: int = 2) -> list[tuple[Any, ...]]:
    """DuckDB's answer. It needs neither Spark nor Java."""
    import duckdb  # imported here, so that the Spark jobs do not pay for it

    with duckdb.connect(config={"threads": threads}) as connection:
        return connection.sql(question(table)).fetchall()


def _answered(name: str, place: Path) -> "Figures":
    READERS[name](place)
    own = resource.getrusage(resource.RUSAGE_SELF)
    return Figures(own.ru_utime + own.ru_stime, own.ru_maxrss / 1024)


def later_compilation() -> str:
    """The JVM options that docs/guide/reports.md proposes for days of millions of counters."""
    page = _REPORTS.read_text(encoding="utf-8")
    [options] = re.findall(r'export JDK_JAVA_OPTIONS="([^"]+)"', page)
    return " ".join(options.split())


# --- the jobs --------------------------------------------------------------------------------------------


def _floor(spark: "SparkSession", _place: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

    spark.range(1_000).agg(F.sum("id")).collect()


_DAILY: Final = ("daily", "--date", _DAY, "--quiet")


def _bare(spark: "SparkSession", place: Path) -> None:
    from tsproxy.decisions.schema import spark_ddl

    lines = spark.read.schema(spark_ddl()).json(str(place / "large"))
    lines.write.mode("overwrite").option("compression", "zstd").parquet(str(place / "bare"))


def _write(spark: "SparkSession", log: Path, table: Path) -> None:
    from spark_reports.log.compact import compact
    from spark_reports.log.read import Source
    from spark_reports.log.store import Table

    compact(spark, Source([str(log)], _DAY, _DAY), Table(str(table)))


def _compact(spark: "SparkSession", place: Path) -> None:
    # A day that is in the table already would be read twice.
    shutil.rmtree(place / "compacted", ignore_errors=True)
    _write(spark, place / "large", place / "compacted")


def _compacted(name: str) -> Callable[["SparkSession", Path], None]:
    return lambda spark, place: _write(spark, place / name, place / f"{name}-table")


def _by_hand(spark: "SparkSession", place: Path) -> None:
    """The least that anybody would write: each line once, records by topic, client, verdict and reason."""
    from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

    keys = ("topic", "client_id", "verdict", "reason")
    texts = ("proxy", "boot", "event", *keys)
    schema = ", ".join([*[f"{name} STRING" for name in texts], "seq BIGINT, records BIGINT"])
    lines = spark.read.schema(schema).json(str(place / "100k")).dropDuplicates(["proxy", "boot", "seq"])
    lines.where(F.col("event") == "counters").groupBy(*keys).agg(F.sum("records")).collect()


def _daily(name: str, *, is_stored: bool = False) -> Callable[["SparkSession", Path], None]:
    """`daily` over JSON lines."""

    def run(_spark: "SparkSession", place: Path) -> None:
        stored = ("--rollup", place / "rollup") if is_stored else ()
        _command(*_DAILY, "--input", place / name, "--output", place / "out", *stored)

    return run


def _daily_of_table(name: str) -> Callable[["SparkSession", Path], None]:
    """`daily --rollup` over the table of `compact`."""

    def run(_spark: "SparkSession", place: Path) -> None:
        table = ("--input", place / f"{name}-table", "--input-format", "parquet")
        _command(*_DAILY, *table, "--output", place / "out", "--rollup", place / "rollup")

    return run


def _what_if(place: Path) -> None:
    _command("what-if", "--rollup", place / "rollup", "--date", _DAY, "--after", "1h", "--before", "7d")


def _trend(place: Path) -> None:
    _command("trend", "--rollup", place / "rollup", "--date", _DAY)


def _command(*arguments: object) -> None:
    from spark_reports.cli import main

    if main([str(argument) for argument in arguments]):
        raise SystemExit(f"failed: {' '.join(map(str, arguments))}")


JOBS: Final[Mapping[str, Callable[["SparkSession", Path], None]]] = MappingProxyType(
    {
        "floor": _floor,
        "bare": _bare,
        "compact": _compact,
        "prepare": _compacted("day"),
        "daily-2k": _daily("2k"),
        "daily-2k-rollup": _daily("2k", is_stored=True),
        "daily-100k": _daily("100k"),
        "by-hand": _by_hand,
        "daily-100k-x10": _daily("100k-x10"),
        "daily": _daily_of_table("day"),
    }
)
READERS: Final[Mapping[str, Callable[[Path], object]]] = MappingProxyType(
    {QUESTION: lambda place: answer(place / "day-table"), "what-if": _what_if, "trend": _trend}
)
"""Jobs without Spark."""


def _submitted(place: Path) -> "Figures":
    """`daily` over the small day by spark-submit, with Spark's own defaults."""
    (events := place / "events").mkdir()
    spark = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]  # pyspark is installed
    archive = pyfiles.make(place / "spark_reports-pyfiles.zip")
    settings = {"eventLog.enabled": "true", "eventLog.dir": events.as_uri(), "eventLog.compress": "false"}
    command = [str(spark / "bin" / "spark-submit"), "--master", MASTER, "--py-files", str(archive)]
    command += [part for name, value in settings.items() for part in ("--conf", f"spark.{name}={value}")]
    command += [str(_ROOT / "deploy" / "spark" / "main.py"), *map(str, _DAILY)]
    command += ["--input", str(place / "2k"), "--output", str(place / "out")]
    environment = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(spark), "SPARK_LOCAL_IP": "127.0.0.1"}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    ran = resource.getrusage(resource.RUSAGE_CHILDREN)
    logs = [path.read_text() for path in events.rglob("*") if path.is_file()]
    return Figures(
        ran.ru_utime + ran.ru_stime, ran.ru_maxrss / 1024, sum(log.count(_TASK_ENDED) for log in logs)
    )


@dataclass(frozen=True, slots=True, order=True)
class Figures:
    """CPU seconds of JVM and Python, the JVM's largest size in MiB, and the tasks of Spark."""

    cpu_s: float
    peak_mib: float
    tasks: int = 0


def run_job(name: str, place: Path) -> Figures:
    """Runs a job and returns its figures. The caller starts a process for each job."""
    if name in READERS:
        return _answered(name, place)
    if name == SUBMITTED:
        return _submitted(place)
    from spark_reports.spark.session import spark_session

    with spark_session(MASTER, is_brief=name in _BRIEF) as spark:
        JOBS[name](spark, place)
        gateway: Any = spark.sparkContext._gateway  # the only way to the JVM's process
        cpu_s, peak_mib = of_process(gateway.proc.pid)
        tasks = int(spark.sparkContext._jsc.sc().taskScheduler().nextTaskId())  # it has no public name
    own = resource.getrusage(resource.RUSAGE_SELF)
    return Figures(cpu_s + own.ru_utime + own.ru_stime, peak_mib, tasks)


def of_process(pid: int) -> tuple[float, float]:
    """The CPU seconds of all threads of a process until now, and its highest resident memory in MiB."""
    place = Path("/proc", str(pid))
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    peak_kib = next(
        int(line.split()[1])
        for line in (place / "status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return ticks / os.sysconf("SC_CLK_TCK"), peak_kib / 1024


def spin_s() -> float:
    """CPU seconds of a loop that is always the same. They show how fast the machine is at the moment."""
    began = time.process_time()
    for _ in range(_SPINS):
        pass
    return time.process_time() - began
