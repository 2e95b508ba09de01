"""`python -m benchmarks.reports`: what the Spark jobs cost, in CPU seconds and memory.

Writes docs/benchmarks-reports.md. Each job runs in a process of its own, its session's start included, and
its JVM says in the end how much CPU time it used (all threads, compilers and collectors too) and how large
it was. The bare job that `compact` is compared with does what any job must that turns the same lines into
sorted Parquet, and nothing else.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DOC: Final = Path(__file__).parent.parent / "docs" / "benchmarks-reports.md"
_DAY: Final = date(2026, 11, 20)
_MASTER: Final = "local[2]"
_BRIEF: Final = ("what-if", "trend")
"""In a JVM as their commands start it; the others have one for much data."""
_LINES_A_FILE: Final = 20_000
_CLIENTS: Final = 500
_TOPICS: Final = 40


# --- the log ---------------------------------------------------------------------------------------------


def write_log(folder: Path, lines: int, records: int) -> None:
    """A day of counters: `lines` of them, so many `records` each; every file is the log of a boot."""
    folder.mkdir(parents=True)
    template = b"".join(_line(seq, records) for seq in range(min(lines, _LINES_A_FILE)))
    for number in range(-(-lines // _LINES_A_FILE)):
        content = template.replace(b"@boot@", b"boot-%06d" % number)
        (folder / f"decisions-20261120T{number % 24:02}0000Z-px-{number:06}.jsonl").write_bytes(content)


def _line(seq: int, records: int) -> bytes:
    minute = seq * 1440 // _LINES_A_FILE
    client, is_bad = seq * 7919 % _CLIENTS, seq % 50 == 0
    at = f"2026-11-20T{minute // 60:02}:{minute % 60:02}"
    how = {"verdict": "accepted", "error_code": 0}
    if is_bad:
        how = {
            "verdict": "rejected",
            "reason": "too_far_ahead",
            "unit_guess": "nanoseconds",
            "error_code": 32,
        }
    buckets = [[side, 2, records // 20] for side in range(-30, -11)]
    line = {
        "ts": f"{at}:59.000Z",
        "event": "counters",
        "v": 1,
        "proxy": "px-1",
        "boot": "@boot@",
        "seq": seq,
        "cluster_id": "lkc-1",
        "interval_start": f"{at}:00.000Z",
        "interval_ms": 60_000,
        "listener": "public",
        "topic": f"topic-{seq % _TOPICS}",
        "client_id": f"service-{client}",
        "principal": f"User:svc-{client}",
        **how,
        "is_final": True,
        "batches": 40,
        "records": records,
        "bad_records": records if is_bad else 0,
        "collateral_records": 0,
        "bytes": records * 100,
        "requests": 40,
        "first_ts": f"{at}:01.000Z",
        "last_ts": f"{at}:58.000Z",
        "drift_min_ms": -900,
        "drift_max_ms": -3,
        "addresses": ["10.0.0.1"],
        "hist": "drift-v1",
        "ahead": buckets,
        "behind": buckets,
    }
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


# --- the jobs --------------------------------------------------------------------------------------------


def _bare(spark: "SparkSession", place: Path) -> None:
    from tsproxy.decisions.schema import spark_ddl

    lines = spark.read.schema(spark_ddl()).json(str(place / "large"))
    ordered = lines.sortWithinPartitions("event", "topic", "client_id")
    ordered.write.mode("overwrite").option("compression", "zstd").parquet(str(place / "bare"))


def _compact(spark: "SparkSession", place: Path) -> None:
    from spark_reports.compact import compact
    from spark_reports.store import Table

    compact(spark, [str(place / "large")], _DAY, _DAY, Table(str(place / "compacted")))


def _prepare(spark: "SparkSession", place: Path) -> None:
    from spark_reports.compact import compact
    from spark_reports.store import Table

    for name in ("day", "day-x10"):
        compact(spark, [str(place / name)], _DAY, _DAY, Table(str(place / f"{name}-table")))


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
        "prepare": _prepare,
        "daily": _daily("day"),
        "daily-x10": _daily("day-x10"),
        "what-if": _what_if,
        "trend": _trend,
    }
)


def run_job(name: str, place: Path) -> dict[str, float]:
    """In a process of its own: CPU seconds of JVM and Python, and the JVM's largest size in MiB."""
    from spark_reports.session import spark_session

    with spark_session(_MASTER, is_brief=name in _BRIEF) as spark:
        JOBS[name](spark, place)
        gateway: Any = spark.sparkContext._gateway  # the only way to the JVM's process
        cpu_s, peak_mib = _of_process(gateway.proc.pid)
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu_s": cpu_s + own.ru_utime + own.ru_stime, "peak_mib": peak_mib}


def _of_process(pid: int) -> tuple[float, float]:
    """CPU seconds of all its threads until now, and the MiB that it had resident at most."""
    place = Path("/proc", str(pid))
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    peak_kib = next(
        int(line.split()[1])
        for line in (place / "status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return ticks / os.sysconf("SC_CLK_TCK"), peak_kib / 1024


def measured(name: str, place: Path) -> dict[str, float]:
    """The same, from outside."""
    command = [sys.executable, "-m", "benchmarks.reports", "--job", name, "--place", str(place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"{name}: {found['cpu_s']:.1f} CPU s, {found['peak_mib']:.0f} MiB", file=sys.stderr)
    return found


# --- the page --------------------------------------------------------------------------------------------


_MOST_MIB: Final = 2_048
_MOST_CPU_S: Final[Mapping[str, float]] = MappingProxyType(
    {"daily": 30, "daily-x10": 30, "what-if": 15, "trend": 15}
)
_MOST_TIMES_BARE: Final = 1.25


def page(found: Mapping[str, Mapping[str, float]], lines: int, rows: int) -> str:
    """The figures as a document, each beside its target."""
    ratio = found["compact"]["cpu_s"] / found["bare"]["cpu_s"]
    tenfold = found["daily-x10"]["cpu_s"] / found["daily"]["cpu_s"]
    said = {
        "bare": f"{lines:,} lines of JSON by bare Spark: explicit schema, sorted within partitions, zstd",
        "compact": f"the same lines by `compact`: {ratio:.2f} times the bare job",
        "daily": f"`daily --rollup` over a compacted day of {rows:,} counters",
        "daily-x10": f"the same keys and intervals, ten times the records: {tenfold:.2f} times",
        "what-if": "`what-if` from that day's rollup",
        "trend": "`trend` from that day's rollup",
    }
    table = [
        f"| {what} | {found[name]['cpu_s']:.1f} | {_target(name, found)} | {found[name]['peak_mib']:.0f} |"
        for name, what in said.items()
    ]
    largest = max(found[name]["peak_mib"] for name in said)
    cores, loads = os.cpu_count(), os.getloadavg()
    return "\n".join(
        [
            "# What the Spark reports cost",
            "",
            f"Measured {datetime.now(UTC):%Y-%m-%d} by `make bench-reports` on {platform.machine()} with "
            f"{cores} cores, {_MASTER}, each job in a process of its own, the session's start included. CPU "
            "seconds are those of the JVM (all threads, compilers and collectors too) and of the driver; the "
            f"size is the JVM's largest. In the last quarter of an hour {loads[2]:.0f} processes wanted one.",
            "",
            "| job | CPU s | target | MiB |",
            "| --- | --- | --- | --- |",
            *table,
            "",
            f"No JVM grew beyond {largest:.0f} MiB: the target of {_MOST_MIB:,} MiB is "
            f"{_word(largest <= _MOST_MIB)}.",
            "",
            "`daily` unfolds the two histograms of each counter, 19 buckets a side here: 76 million rows "
            "from two million, added up by topic and client, whose names are copied for each of them. "
            "That pass is about half of its cost; what is asked of its small result is not compiled. "
            "`what-if` and `trend` read the result.",
            "",
        ]
    )


def _target(name: str, found: Mapping[str, Mapping[str, float]]) -> str:
    if name == "compact":
        limit = _MOST_TIMES_BARE * found["bare"]["cpu_s"]
        return f"{_MOST_TIMES_BARE} times bare: {_word(found[name]['cpu_s'] <= limit)}"
    if name not in _MOST_CPU_S:
        return ""
    return f"{_MOST_CPU_S[name]:g}: {_word(found[name]['cpu_s'] <= _MOST_CPU_S[name])}"


def _word(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def main() -> int:
    """Write the page, or print one job's figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000, help="for compact (default 10 million)")
    parser.add_argument("--rows", type=int, default=2_000_000, help="counters of the day (default 2 million)")
    parser.add_argument("--print", action="store_true", help="print the page instead of writing it")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help="a folder with room for the logs (20 GB)")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(run_job(options.job, options.place)))
        return 0
    with tempfile.TemporaryDirectory(prefix="tsproxy-bench-", dir=options.place) as made:
        place = Path(made)
        write_log(place / "large", options.lines, 1_000)
        write_log(place / "day", options.rows, 1_000)
        write_log(place / "day-x10", options.rows, 10_000)
        found = {name: measured(name, place) for name in JOBS}
    text = page(found, options.lines, options.rows)
    if options.print:
        print(text)
    else:
        _DOC.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
