"""`python -m benchmarks.reports`: the cost of the Spark jobs, in CPU seconds, memory and tasks.

It writes the lower part of benchmarks.md. Each job runs in a process of its own. The figures include the
start of the session, and all threads of the JVM with its compilers and collectors. Beside each job stands the
floor: a bare session in such a JVM that adds up a thousand rows. `compact` is compared with a bare job, which
only turns the same lines into sorted Parquet.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.day import LINE_BYTES, write_log
from benchmarks.opening import with_opening
from benchmarks.page import PAGE, with_reports, wrapped
from benchmarks.spark_jobs import (
    JOBS,
    MASTER,
    QUESTION,
    SUBMITTED,
    Figures,
    later_compilation,
    run_job,
    spin_s,
)

_IN_TURN: Final = ("floor", "daily-2k", "daily-100k", "daily")
_ROUNDS: Final = 3
_ONCE: Final = ("daily-2k-rollup", "daily-100k-x10", "what-if", "trend", QUESTION, SUBMITTED)
_SMALL: Final = 2_000
_MIDDLE: Final = 100_000
_GIB: Final = 2**30


def measured(name: str, place: Path) -> Figures:
    """The figures of `run_job` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.reports", "--job", name, "--place", str(place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = Figures(**json.loads(done.stdout.splitlines()[-1]))
    print(f"{name}: {found.cpu_s:.1f} CPU s, {found.peak_mib:.0f} MiB", file=sys.stderr, flush=True)
    return found


# --- the page --------------------------------------------------------------------------------------------


_MOST_MIB: Final = 2_048
_MOST_CPU_S: Final[Mapping[str, float]] = MappingProxyType({"daily": 30, "what-if": 15, "trend": 15})
_MOST_TIMES_FLOOR: Final[Mapping[str, float]] = MappingProxyType({"daily-2k": 2, "daily-100k": 4})
_MOST_TIMES_BARE: Final = 1.25
_MOST_TASKS: Final = 40


@dataclass(frozen=True, slots=True)
class Sizes:
    """The amount of data: lines for `compact`, and counters of the large day."""

    lines: int
    rows: int

    @property
    def space_bytes(self) -> int:
        """The size of the larger of the two logs, since only one exists at a time, and a third for Spark."""
        return max(self.lines, self.rows) * LINE_BYTES * 4 // 3


def part(
    found: Mapping[str, Figures], sizes: Sizes, loads: tuple[float, float], spins_s: Sequence[float]
) -> str:
    """The page's part about Spark reports: a table of figures and targets.

    `loads` are the load averages before and after the run, `spins_s` the results of `spin_s` between jobs.
    """
    ratio = found["compact"].cpu_s / found["bare"].cpu_s
    tenfold = found["daily-100k-x10"].cpu_s / found["daily-100k"].cpu_s
    said = {
        "floor": "the floor: a bare session that adds up a thousand rows",
        "daily-2k": f"`daily` over {_SMALL:,} counters",
        "daily-2k-rollup": "the same with `--rollup`",
        SUBMITTED: "the same without, by spark-submit with its own defaults",
        "daily-100k": f"`daily` over {_MIDDLE:,} counters",
        "daily-100k-x10": f"the same keys and intervals, ten times the records: {tenfold:.2f} times",
        "daily": f"`daily --rollup` over a compacted day of {sizes.rows:,} counters",
        "what-if": "`what-if` from that day's rollup",
        "trend": "`trend` from that day's rollup",
        "bare": f"{sizes.lines:,} lines of JSON by bare Spark: schema given, sorted within partitions, zstd",
        "compact": f"the same lines by `compact`: {ratio:.2f} times the bare job",
        QUESTION: "`docs/guide/reports.md`'s question for DuckDB, of the compacted day",
    }
    table = [
        f"| {what} | {found[name].cpu_s:.1f} | {found[name].cpu_s / found['floor'].cpu_s:.1f} "
        f"| {_target(name, found)} | {found[name].tasks or ''} | {found[name].peak_mib:.0f} |"
        for name, what in said.items()
    ]
    largest = max(found[name].peak_mib for name in said if name != QUESTION)
    return "\n".join(
        [
            "## What the Spark reports cost",
            "",
            wrapped(
                "`make bench-reports` writes this part; do not edit it. Measured "
                f"{datetime.now(UTC):%Y-%m-%d} on {platform.machine()} with {os.cpu_count()} cores, "
                f"{MASTER}. Each job runs in a process of its own. Its figures include the start of the "
                "session, with the option that `reports.md` names for repeated runs. CPU seconds are "
                "those of the JVM (all threads, with compilers and collectors) and of the driver. The next "
                "column has them as a multiple of the floor: what Spark costs before it does anything. The "
                f"size is the JVM's largest. The floor and three `daily` jobs ran {_ROUNDS} times in turn; "
                f"the table has the smallest figure of each. Load average {loads[0]:.1f} before the run, "
                f"{loads[1]:.1f} after it. A loop that always does the same took {min(spins_s):.2f} to "
                f"{max(spins_s):.2f} CPU seconds between the jobs: other programs on the host share caches "
                "and cores, and that makes CPU seconds more expensive."
            ),
            "",
            "| job | CPU s | × floor | target | tasks | MiB |",
            "| --- | --- | --- | --- | --- | --- |",
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
        "compilers. `what-if` and `trend` read the small result. These changes were made:"
    ),
    "",
    *(
        wrapped(tried, begin="- ")
        for tried in (
            "The smallest and largest texts made Spark sort all lines, three times. They are numbers now.",
            "Java's second compiler took a third of all CPU time, for code that runs once. Now it compiles "
            "code that runs a hundred times as often as by default, and loops over lines that run ten times "
            "as often: the tasks' own time fell by half. These options are not the default "
            "(`docs/guide/reports.md` has them).",
            "A small day was asked 27 queries, and most of its cost was to plan them. Now it is eight, each "
            "of one task, since the day is one partition. PySpark asks Java three questions for a function "
            "of a column, so measures and checks of counts are texts of SQL, and sentences about unusable "
            "lines are planned only if there are such lines. To collect the lines and to do the rest in "
            "plain Python took 1.5 times the floor, but said everything twice.",
            "A day of 100,000 counters is eight queries. A third of its CPU time reads, checks and keeps the "
            "lines, and a seventh is all that the other queries compute. The rest is the floor, the planning "
            "of plans of eighty columns, and the compilers. Its histograms were added up by a query that was "
            "not compiled, which took half of all CPU time; now by topic alone, in a query that is. Tried "
            "without gain: stages that are not compiled, no adaptive planning, compiled huge methods.",
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
            "The target for `compact` was met (1.17) until the histograms of each line were checked: none "
            "may count more than its line, or it would bend a report. Spark does not compile a lambda, and "
            "has no other sum over an array. For 400,000 lines with 38 buckets each, in one warm JVM, "
            "reading and marking takes 4.0 CPU s without the check, 6.2 with a lambda that does nothing, and "
            "7.6 with all of it. A compiled test by position was tried; lines that fail it would need the "
            "lambda. Beside little other work, 1,000,000 lines took the bare job 34 CPU s, and `compact` 42 "
            "without any check, 49 with that test alone, and 53 to 55 with the lambda. So such a test does "
            "not meet the target. Its code takes 2 CPU s before the first line, and each of its functions "
            "runs once a line: too seldom for Java's second compiler, with the options of `reports.md`. "
            "Two definitions of one check for a tenth of a nightly job are not worth it.",
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
    """The job's target, and whether it is met; empty if it has none."""
    cpu_s = found[name].cpu_s
    if name == "compact":
        return f"{_MOST_TIMES_BARE} times bare: {_word(cpu_s <= _MOST_TIMES_BARE * found['bare'].cpu_s)}"
    if name == SUBMITTED:
        return f"{_MOST_TASKS} tasks: {_word(found[name].tasks <= _MOST_TASKS)}"
    if name in _MOST_TIMES_FLOOR:
        limit = _MOST_TIMES_FLOOR[name]
        return f"{limit:g} times the floor: {_word(cpu_s <= limit * found['floor'].cpu_s)}"
    if name in _MOST_CPU_S:
        return f"{_MOST_CPU_S[name]:g} CPU s: {_word(cpu_s <= _MOST_CPU_S[name])}"
    return ""


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

    write_log(place / "2k", _SMALL, 25)
    write_log(place / "large", sizes.lines, 25)
    for name in ("bare", "compact"):
        found[name] = measured_beside(name)
    shutil.rmtree(place / "large")
    write_log(place / "day", sizes.rows, 25)
    measured("prepare", place)
    shutil.rmtree(place / "day")
    write_log(place / "100k", _MIDDLE, 25)
    write_log(place / "100k-x10", _MIDDLE, 250)
    for name in _IN_TURN * _ROUNDS:
        figures = measured_beside(name)
        found[name] = min(figures, found.get(name, figures))
    found |= {name: measured_beside(name) for name in _ONCE}
    return found, spins_s


def main() -> int:
    """Writes the page and returns 0. Returns 2 if the disk has too little space."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000_000, help="for compact (default 10 million)")
    parser.add_argument("--rows", type=int, default=2_000_000, help="counters of the day (default 2 million)")
    parser.add_argument("--print", action="store_true", help="print the page's part instead of writing it")
    parser.add_argument("--job", choices=(*JOBS, QUESTION, SUBMITTED), help=argparse.SUPPRESS)
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
        os.environ["JDK_JAVA_OPTIONS"] = later_compilation()
        found, spins_s = measure(Path(made), sizes)
    text = part(found, sizes, (load_before, os.getloadavg()[0]), spins_s)
    if options.print:
        print(text)
    else:
        page = with_reports(PAGE.read_text(encoding="utf-8"), text)
        PAGE.write_text(with_opening(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
