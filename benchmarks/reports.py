"""`python -m benchmarks.reports`: the cost of the Spark jobs, in CPU seconds and memory.

It writes the lower part of docs/benchmarks.md. Each job runs in a process of its own. The figures include the
start of the session, and all threads of the JVM with its compilers and collectors. `compact` is compared with
a bare job, which only turns the same lines into sorted Parquet.
"""

import argparse
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from benchmarks.day import LINE_BYTES, write_log
from benchmarks.page import PAGE, with_reports, wrapped
from spark_reports.spark import class_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DAY: Final = date(2026, 11, 20)
_MASTER: Final = "local[2]"
_QUESTION: Final = "duckdb"
_BRIEF: Final = ("what-if", "trend")
"""Jobs that run in a JVM as their commands start it. The others have a JVM for much data."""
_ROUNDS: Final = 3
_FEW: Final = 2_000
"""The number of counters of a small day, whose report costs as much as any report."""
_SPINS: Final = 30_000_000
_GIB: Final = 2**30


# --- DuckDB ----------------------------------------------------------------------------------------------


def question(table: Path) -> str:
    """The query of docs/reports.md for DuckDB, with the lines that `compact` wrote to `table`."""
    page = (PAGE.parent / "reports.md").read_text(encoding="utf-8")
    [asked] = re.findall(r"(?:^    .*read_parquet.*\n)(?:^    .*\n)+", page, re.MULTILINE)
    return " ".join(asked.split()).replace("'lines/", f"'{table}/")


def answer(table: Path, threads: int = 2) -> list[tuple[Any, ...]]:
    """DuckDB's answer. It needs neither Spark nor Java."""
    import duckdb  # imported here, so that the Spark jobs do not pay for it

    with duckdb.connect(config={"threads": threads}) as connection:
        return connection.sql(question(table)).fetchall()


def _answered(place: Path) -> "Figures":
    answer(place / "day-table")
    own = resource.getrusage(resource.RUSAGE_SELF)
    return Figures(own.ru_utime + own.ru_stime, own.ru_maxrss / 1024)


def later_compilation() -> str:
    """The JVM options that docs/reports.md proposes for days of millions of counters."""
    page = (PAGE.parent / "reports.md").read_text(encoding="utf-8")
    [options] = re.findall(r'export JDK_JAVA_OPTIONS="([^"]+)"', page)
    return " ".join(options.split())


# --- the jobs --------------------------------------------------------------------------------------------


def _bare(spark: "SparkSession", place: Path) -> None:
    from tsproxy.decisions.schema import spark_ddl

    lines = spark.read.schema(spark_ddl()).json(str(place / "large"))
    ordered = lines.sortWithinPartitions("event", "topic", "client_id")
    ordered.write.mode("overwrite").option("compression", "zstd").parquet(str(place / "bare"))


def _compact(spark: "SparkSession", place: Path) -> None:
    from spark_reports.log.compact import compact
    from spark_reports.log.store import Table

    # A day that is in the table already would be read twice.
    shutil.rmtree(place / "compacted", ignore_errors=True)
    compact(spark, [str(place / "large")], _DAY, _DAY, Table(str(place / "compacted")))


def _compacted(*names: str) -> Callable[["SparkSession", Path], None]:
    def run(spark: "SparkSession", place: Path) -> None:
        from spark_reports.log.compact import compact
        from spark_reports.log.store import Table

        for name in names:
            compact(spark, [str(place / name)], _DAY, _DAY, Table(str(place / f"{name}-table")))

    return run


def _daily(name: str) -> Callable[["SparkSession", Path], None]:
    def run(_spark: "SparkSession", place: Path) -> None:
        _command(
            *("daily", "--input", place / f"{name}-table", "--input-format", "parquet", "--date", _DAY),
            *("--output", place / "out", "--rollup", place / "rollup", "--quiet"),
        )

    return run


def _what_if(_spark: "SparkSession", place: Path) -> None:
    _command("what-if", "--rollup", place / "rollup", "--date", _DAY, "--after", "1h", "--before", "7d")


def _trend(_spark: "SparkSession", place: Path) -> None:
    _command("trend", "--rollup", place / "rollup", "--date", _DAY)


def _command(*arguments: object) -> None:
    from spark_reports.cli import main

    if main([str(argument) for argument in arguments]):
        raise SystemExit(f"failed: {' '.join(map(str, arguments))}")


JOBS: Final[Mapping[str, Callable[["SparkSession", Path], None]]] = MappingProxyType(
    {
        "bare": _bare,
        "compact": _compact,
        "first": _compacted("small"),
        "prepare": _compacted("day", "day-x10"),
        "daily-small": _daily("small"),
        "daily": _daily("day"),
        "daily-x10": _daily("day-x10"),
        "what-if": _what_if,
        "trend": _trend,
    }
)


@dataclass(frozen=True, slots=True, order=True)
class Figures:
    """CPU seconds of JVM and Python, and the JVM's largest size in MiB."""

    cpu_s: float
    peak_mib: float


def run_job(name: str, place: Path) -> Figures:
    """Runs a job and returns its figures. The caller starts a process for each job."""
    if name == _QUESTION:
        return _answered(place)
    from spark_reports.spark.session import spark_session

    with spark_session(_MASTER, is_brief=name in _BRIEF) as spark:
        JOBS[name](spark, place)
        gateway: Any = spark.sparkContext._gateway  # the only way to the JVM's process
        cpu_s, peak_mib = _of_process(gateway.proc.pid)
    own = resource.getrusage(resource.RUSAGE_SELF)
    return Figures(cpu_s + own.ru_utime + own.ru_stime, peak_mib)


def _of_process(pid: int) -> tuple[float, float]:
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


def measured(name: str, place: Path) -> Figures:
    """The figures of `run_job` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.reports", "--job", name, "--place", str(place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = Figures(**json.loads(done.stdout.splitlines()[-1]))
    print(f"{name}: {found.cpu_s:.1f} CPU s, {found.peak_mib:.0f} MiB", file=sys.stderr, flush=True)
    return found


# --- the page --------------------------------------------------------------------------------------------


_MOST_MIB: Final = 2_048
_MOST_CPU_S: Final[Mapping[str, float]] = MappingProxyType(
    {"daily": 30, "daily-x10": 30, "what-if": 15, "trend": 15}
)
_MOST_TIMES_BARE: Final = 1.25


@dataclass(frozen=True, slots=True)
class Sizes:
    """The amount of data: lines for `compact`, and counters of the day for the other jobs."""

    lines: int
    rows: int

    @property
    def space_bytes(self) -> int:
        """The size of the larger of the two logs, since only one exists at a time, and a third for Spark."""
        return max(self.lines, 2 * self.rows) * LINE_BYTES * 4 // 3


def part(
    found: Mapping[str, Figures], sizes: Sizes, loads: tuple[float, float], spins_s: Sequence[float]
) -> str:
    """The page's part about Spark reports: a table of figures and targets.

    `loads` are the load averages before and after the run, `spins_s` the results of `spin_s` between jobs.
    """
    ratio = found["compact"].cpu_s / found["bare"].cpu_s
    tenfold = found["daily-x10"].cpu_s / found["daily"].cpu_s
    said = {
        "bare": f"{sizes.lines:,} lines of JSON by bare Spark: schema given, sorted within partitions, zstd",
        "compact": f"the same lines by `compact`: {ratio:.2f} times the bare job",
        "daily": f"`daily --rollup` over a compacted day of {sizes.rows:,} counters",
        "daily-x10": f"the same keys and intervals, ten times the records: {tenfold:.2f} times",
        "daily-small": f"`daily --rollup` over {_FEW:,} counters: what any day costs",
        "what-if": "`what-if` from that day's rollup",
        "trend": "`trend` from that day's rollup",
        _QUESTION: "`docs/reports.md`'s question for DuckDB, of that day's table",
    }
    table = [
        f"| {what} | {found[name].cpu_s:.1f} | {_target(name, found)} | {found[name].peak_mib:.0f} |"
        for name, what in said.items()
    ]
    largest = max(found[name].peak_mib for name in said if name != _QUESTION)
    return "\n".join(
        [
            "## What the Spark reports cost",
            "",
            wrapped(
                "`make bench-reports` writes this part; do not edit it. Measured "
                f"{datetime.now(UTC):%Y-%m-%d} on {platform.machine()} with {os.cpu_count()} cores, "
                f"{_MASTER}. Each job runs in a process of its own. Its figures include the start of the "
                "session, with both options that `docs/reports.md` names for repeated runs. CPU seconds are "
                "those of the JVM (all threads, with compilers and collectors) and of the driver. The size "
                f"is the JVM's largest. The three `daily` jobs ran {_ROUNDS} times in turn, and the table "
                f"has the smallest figure of each. Load average {loads[0]:.1f} before the run, "
                f"{loads[1]:.1f} after it. A loop that always does the same took {min(spins_s):.2f} to "
                f"{max(spins_s):.2f} CPU seconds between the jobs: other programs on the host share caches "
                "and cores, and that makes CPU seconds more expensive."
            ),
            "",
            "| job | CPU s | target | MiB |",
            "| --- | --- | --- | --- |",
            *table,
            "",
            f"No JVM grew beyond {largest:.0f} MiB: the target of {_MOST_MIB:,} MiB is "
            f"{_word(largest <= _MOST_MIB)}.",
            "",
            *_EXPLAINED,
            "",
        ]
    )


_EXPLAINED: Final = (
    wrapped(
        "`daily` reads the two histograms of each counter, here with 19 buckets a side: 76 million from two "
        "million counters. It adds up each bucket by the number of its key. The rest of its cost is about "
        "the same for any size: the start of the session, the planning of its queries, and the "
        "compilers. `what-if` and `trend` read the small result. What was tried:"
    ),
    "",
    *(
        wrapped(tried, begin="- ")
        for tried in (
            "The smallest and largest texts made Spark sort all lines, three times. They are numbers now.",
            "Java's second compiler took a third of all CPU time, for code that runs once. Now it compiles "
            "code that runs a hundred times as often as by default, and loops over lines that run ten times "
            "as often: the tasks' own time fell by half. These options are not the default "
            "(`docs/reports.md` has them).",
            "A third of the CPU time of a small day went into finding and checking classes in Spark's jars. "
            "Now an archive of them is kept from run to run, if `SPARK_REPORTS_CACHE` names a folder.",
            "A small day was asked 27 queries, and most of its cost was to plan them. Now its totals are "
            "collected once, and plain Python makes the tables: 8 queries, and 11.9 CPU seconds instead of "
            "19.8 for `daily` over 1,167 counters, where a session that counts ten rows takes 4.4.",
            "An instant of the log ends with a Z. To know that zone, Spark ran two regular expressions, four "
            "times a counter. Now the Z is left out, and the instants in counters of accepted batches are "
            "not read at all.",
            "Each function of a column asked the JVM half a dozen questions, in order to name a line of "
            "spark_reports in an error: a fifth of `daily` over a small day. This is switched off.",
            "Spark generates one method of 10 KB for a line of eighty columns, and Java does not compile "
            "methods above 8,000 bytes: 20 microseconds a line. The sessions of spark_reports compile it. "
            "With spark-submit, set `-XX:-DontCompileHugeMethods` in `--driver-java-options` and "
            "`spark.executor.extraJavaOptions`.",
            "`compact` copied each line four times more than the bare job: for its file's name, for that "
            "name's column, around the count of late lines and to write a partition. A copy of eighty "
            "columns is 3 microseconds. Now one step makes all marks of a line, with its file's name. The "
            "steps after it are not compiled into one, so they pass a line on unchanged. Two copies "
            "are left.",
            "The bare job compares lines by three names, which may be anywhere in memory. `compact` sorts a "
            "day by one number, byte by byte, and reads no line for it.",
            "The rest of the difference has three parts. For the column of unreadable lines Spark looks up "
            "every field by its name once more. Two instants of each line are checked. And the table is "
            "read again, five columns of it. To leave out Parquet's statistics of sizes saved nothing.",
            "The rest of `daily`: a quarter unpacks histograms from Parquet (two hundred million "
            "numbers), a quarter adds them up, a fifth compiles. Tried without gain: smaller batches of "
            "rows, another collector, later compilation, rows cut off from their lineage, small queries "
            "before the writing. Not tried: histograms as flat lists in the table, which changes its schema.",
        )
    ),
)


def _target(name: str, found: Mapping[str, Figures]) -> str:
    if name == "compact":
        limit = _MOST_TIMES_BARE * found["bare"].cpu_s
        return f"{_MOST_TIMES_BARE} times bare: {_word(found[name].cpu_s <= limit)}"
    if name not in _MOST_CPU_S:
        return ""
    return f"{_MOST_CPU_S[name]:g}: {_word(found[name].cpu_s <= _MOST_CPU_S[name])}"


def _word(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


# --- the command -----------------------------------------------------------------------------------------


def measure(place: Path, sizes: Sizes) -> tuple[dict[str, Figures], list[float]]:
    """Runs all jobs in sequence, with `spin_s` before each. A log exists only while it is needed."""
    found: dict[str, Figures] = {}
    spins_s: list[float] = []

    def measured_beside(name: str) -> Figures:
        spins_s.append(spin_s())
        return measured(name, place)

    write_log(place / "small", _FEW, 25)
    measured("first", place)
    write_log(place / "large", sizes.lines, 25)
    for name in ("bare", "compact"):
        found[name] = measured_beside(name)
    shutil.rmtree(place / "large")
    write_log(place / "day", sizes.rows, 25)
    write_log(place / "day-x10", sizes.rows, 250)
    measured("prepare", place)
    for name in ("daily-small", "daily-x10", "daily") * _ROUNDS:
        figures = measured_beside(name)
        found[name] = min(figures, found.get(name, figures))
    found |= {name: measured_beside(name) for name in (*_BRIEF, _QUESTION)}
    return found, spins_s


def main() -> int:
    """Writes the page and returns 0. Returns 2 if the disk has too little space."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000, help="for compact (default 10 million)")
    parser.add_argument("--rows", type=int, default=2_000_000, help="counters of the day (default 2 million)")
    parser.add_argument("--print", action="store_true", help="print the page's part instead of writing it")
    parser.add_argument("--job", choices=(*JOBS, _QUESTION), help=argparse.SUPPRESS)
    parser.add_argument(
        "--place", type=Path, default=Path(tempfile.gettempdir()), help="a folder with enough space"
    )
    options = parser.parse_args()
    if options.job:
        print(json.dumps(asdict(run_job(options.job, options.place))))
        return 0
    sizes = Sizes(options.lines, options.rows)
    if (free := shutil.disk_usage(options.place).free) < sizes.space_bytes:
        print(
            f"{options.place} has {free / _GIB:.1f} GiB free, {sizes.space_bytes / _GIB:.1f} GiB are needed: "
            "name another folder by --place, or fewer lines by --lines and --rows.",
            file=sys.stderr,
        )
        return 2
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="tsproxy-bench-", dir=options.place) as made:
        os.environ["SPARK_LOCAL_DIRS"] = made  # for data that does not fit into memory
        os.environ[class_archive.PLACE] = str(Path(made, "classes"))
        os.environ["JDK_JAVA_OPTIONS"] = later_compilation()
        found, spins_s = measure(Path(made), sizes)
    text = part(found, sizes, (load_before, os.getloadavg()[0]), spins_s)
    if options.print:
        print(text)
    else:
        PAGE.write_text(with_reports(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
