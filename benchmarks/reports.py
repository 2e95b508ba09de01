"""`python -m benchmarks.reports`: the cost of the Spark jobs, in CPU seconds, memory and tasks.

It writes the lower part of results.md. Each job runs in a process of its own. The figures include the
start of the session, and all threads of the JVM with its compilers and collectors. Beside each job stands the
floor: a bare session in such a JVM that adds up a thousand rows. `compact` is compared with a bare job, which
only turns the same lines into Parquet.
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
from typing import Final

from benchmarks import answers
from benchmarks.day import LINE_BYTES, write_log
from benchmarks.page import REPORTS_TITLE, RESULTS, with_reports, wrapped
from benchmarks.spark_jobs import (
    JOBS,
    MASTER,
    QUESTION,
    READERS,
    SUBMITTED,
    Figures,
    later_compilation,
    run_job,
    spin_s,
)

_IN_TURN: Final = ("floor", "daily-2k", "daily-100k", "by-hand", "daily")
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
    """The page's part about Spark reports: a table of figures.

    `loads` are the load averages before and after the run, `spins_s` the results of `spin_s` between jobs.
    """
    ratio = found["compact"].cpu_s / found["bare"].cpu_s
    by_hand = found["daily-100k"].cpu_s / found["by-hand"].cpu_s
    tenfold = found["daily-100k-x10"].cpu_s / found["daily-100k"].cpu_s
    said = {
        "floor": "the floor: a bare session that adds up a thousand rows",
        "daily-2k": f"`daily` over {_SMALL:,} counters",
        "daily-2k-rollup": "the same with `--rollup`",
        SUBMITTED: "the same without, by spark-submit with its own defaults",
        "daily-100k": f"`daily` over {_MIDDLE:,} counters",
        "by-hand": "a hand-written job over the same lines, which only groups each line once: `daily` costs "
        f"{by_hand:.2f} times as much",
        "daily-100k-x10": f"the same keys and intervals, ten times the records: {tenfold:.2f} times",
        "daily": f"`daily --rollup` over a compacted day of {sizes.rows:,} counters",
        "what-if": "`what-if` from that day's rollup",
        "trend": "`trend` from that day's rollup",
        "bare": f"{sizes.lines:,} lines of JSON by bare Spark: schema given, zstd",
        "compact": f"the same lines by `compact`: {ratio:.2f} times the bare job",
        QUESTION: "`docs/guide/reports.md`'s question for DuckDB, of the compacted day",
    }
    table = [
        f"| {what} | {found[name].cpu_s:.1f} | {found[name].cpu_s / found['floor'].cpu_s:.1f} "
        f"| {found[name].tasks or ''} | {found[name].peak_mib:.0f} |"
        for name, what in said.items()
    ]
    return "\n".join(
        [
            f"## {REPORTS_TITLE}",
            "",
            wrapped(
                "`make bench-reports` writes this part; do not edit it. Measured "
                f"{datetime.now(UTC):%Y-%m-%d} on {platform.machine()} with {os.cpu_count()} cores, "
                f"{MASTER}. Each job runs in a process of its own. Its figures include the start of the "
                "session, with the option that `reports.md` names for repeated runs. CPU seconds are "
                "those of the JVM (all threads, with compilers and collectors) and of the driver. The next "
                "column has them as a multiple of the floor: what Spark costs before it does anything. The "
                f"size is the JVM's largest. The floor and four other jobs ran {_ROUNDS} times in turn; "
                f"the table has the smallest figure of each. Load average {loads[0]:.1f} before the run, "
                f"{loads[1]:.1f} after it. A loop that always does the same took {min(spins_s):.2f} to "
                f"{max(spins_s):.2f} CPU seconds between the jobs: other programs on the host share caches "
                "and cores, and that makes CPU seconds more expensive."
            ),
            "",
            "| job | CPU s | × floor | tasks | MiB |",
            "| --- | --- | --- | --- | --- |",
            *table,
            "",
        ]
    )


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
    parser.add_argument("--job", choices=(*JOBS, *READERS, SUBMITTED), help=argparse.SUPPRESS)
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
        page = with_reports(RESULTS.read_text(encoding="utf-8"), text)
        RESULTS.write_text(page, encoding="utf-8")
        answers.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
