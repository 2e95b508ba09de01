"""The Spark jobs that `benchmarks.reports` measures, each in a process of its own."""

import os
import resource
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from benchmarks.day import LINE_BYTES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DAY: Final = date(2026, 11, 20)
MASTER: Final = "local[2]"
SMALL: Final = 79
"""The lines of the smallest day."""
SIZES: Final = (200_000, 1_000_000, 4_000_000)
"""The lines of the other days."""
COPIED: Final = SIZES[1]
"""The lines that are copied to a table."""
DAYS: Final = 30
"""The days of the rollup that is read without Spark."""
_SPINS: Final = 30_000_000
_LINES: Final = {"floor": 0, "daily-many": SIZES[0], "bare": COPIED, "compact": COPIED}
"""The lines that a job reads, if its name does not end with them."""


# --- the jobs --------------------------------------------------------------------------------------------


def _floor(spark: "SparkSession", _place: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

    spark.range(1_000).agg(F.sum("id")).collect()


def _bare(spark: "SparkSession", place: Path) -> None:
    from tsproxy.decisions.schema import spark_ddl

    lines = spark.read.schema(spark_ddl()).json(str(place / str(COPIED)))
    lines.write.mode("overwrite").option("compression", "zstd").parquet(str(place / "bare"))


def _compact(spark: "SparkSession", place: Path) -> None:
    """The lines as `daily --store` writes them to its table."""
    from spark_reports.log.compact import compact
    from spark_reports.log.read import Source
    from spark_reports.log.store import Table

    # A day that is in the table already would be read twice.
    shutil.rmtree(place / "compacted", ignore_errors=True)
    compact(spark, Source([str(place / str(COPIED))], _DAY, _DAY), Table(str(place / "compacted")))


def _by_hand(lines: int) -> Callable[["SparkSession", Path], None]:
    """The least that anybody would write: each line once, records by topic, client, verdict and reason."""

    def run(spark: "SparkSession", place: Path) -> None:
        from pyspark.sql import functions as F  # noqa: N812  # the name that all of Spark's documentation uses

        keys = ("topic", "client_id", "verdict", "reason")
        texts = ("proxy", "boot", "event", *keys)
        schema = ", ".join([*[f"{name} STRING" for name in texts], "seq BIGINT, records BIGINT"])
        read = spark.read.schema(schema).json(str(place / str(lines)))
        once = read.dropDuplicates(["proxy", "boot", "seq"])
        once.where(F.col("event") == "counters").groupBy(*keys).agg(F.sum("records")).collect()

    return run


def _daily(name: str) -> Callable[["SparkSession", Path], None]:
    def run(_spark: "SparkSession", place: Path) -> None:
        kept = ("--output", place / "out" / name, "--rollup", place / "rollup" / name)
        _command("daily", "--date", _DAY, "--quiet", "--input", place / name, *kept)

    return run


def copy_days(rollup: Path) -> None:
    """Makes a rollup of one day one of DAYS days, all alike."""
    for day in (_DAY - timedelta(days=number) for number in range(1, DAYS)):
        for folder in rollup.glob(f"*/event_date={_DAY}"):
            shutil.copytree(folder, folder.with_name(f"event_date={day}"))
        for file in rollup.glob(f"days/{_DAY}*"):
            text = file.read_text(encoding="utf-8").replace(str(_DAY), str(day))
            file.with_name(file.name.replace(str(_DAY), str(day))).write_text(text, encoding="utf-8")


def _reader(*command: object) -> Callable[[Path], None]:
    return lambda place: _command(*command, "--date", _DAY, "--rollup", place / "rollup" / "many")


def _command(*arguments: object) -> None:
    from spark_reports.cli import main

    if main([str(argument) for argument in arguments]):
        raise SystemExit(f"failed: {' '.join(map(str, arguments))}")


JOBS: Final[Mapping[str, Callable[["SparkSession", Path], None]]] = MappingProxyType(
    {
        "floor": _floor,
        "bare": _bare,
        "compact": _compact,
        "daily-many": _daily("many"),
        **{f"daily-{lines}": _daily(str(lines)) for lines in (SMALL, *SIZES)},
        **{f"by-hand-{lines}": _by_hand(lines) for lines in SIZES},
    }
)
READERS: Final[Mapping[str, Callable[[Path], None]]] = MappingProxyType(
    {
        "trend": _reader("trend", "--days", DAYS),
        "what-if": _reader("what-if", "--after", "1h", "--before", "7d"),
    }
)
"""Jobs without Spark."""


@dataclass(frozen=True, slots=True, order=True)
class Figures:
    """CPU seconds of JVM and Python, the JVM's largest size in MiB, and the tasks of Spark."""

    cpu_s: float
    peak_mib: float
    tasks: int = 0


def run_job(name: str, place: Path) -> Figures:
    """Runs a job and returns its figures. The caller starts a process for each job."""
    if name in READERS:
        READERS[name](place)
        own = resource.getrusage(resource.RUSAGE_SELF)
        return Figures(own.ru_utime + own.ru_stime, own.ru_maxrss / 1024)
    from spark_reports.spark.session import spark_session

    lines = _LINES[name] if name in _LINES else int(name.rpartition("-")[2])
    with spark_session(MASTER, size_bytes=lines * LINE_BYTES) as spark:
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
