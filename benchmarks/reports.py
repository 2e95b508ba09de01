"""`python -m benchmarks.reports`: the cost of the Spark jobs, in CPU seconds, memory and tasks.

It writes the lower part of results.md. Each job runs in a process of its own. The figures include the
start of the session, and all threads of the JVM with its compilers and collectors. Each job stands beside a
yardstick: a bare session, a hand-written job over the same lines, or a bare copy of them.
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
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks import answers
from benchmarks.day import LINE_BYTES, write_log
from benchmarks.page import REPORTS_TITLE, RESULTS, with_reports, wrapped
from benchmarks.spark_jobs import (
    COPIED,
    DAYS,
    JOBS,
    MASTER,
    READERS,
    SIZES,
    SMALL,
    Figures,
    copy_days,
    run_job,
    spin_s,
)

_IN_TURN: Final = ("floor", f"daily-{SMALL}", "bare", "compact")
_ROUNDS: Final = 3
_PRODUCERS: Final = 10_000
_BOUNDS: Final = {f"daily-{SMALL}": 1.6, "compact": 1.25} | dict(
    zip((f"daily-{lines}" for lines in SIZES), (1.35, 1.5, 1.5), strict=True)
)
"""How many times as much as its yardstick a job may cost."""
_SPACE_BYTES: Final = SIZES[-1] * LINE_BYTES * 4 // 3
"""The size of the largest log, since only one exists at a time, and a third for Spark."""
_GIB: Final = 2**30


def measured(name: str, place: Path) -> Figures:
    """The figures of `run_job` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.reports", "--job", name, "--place", str(place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = Figures(**json.loads(done.stdout.splitlines()[-1]))
    print(f"{name}: {found.cpu_s:.1f} CPU s, {found.peak_mib:.0f} MiB", file=sys.stderr, flush=True)
    return found


# --- the page --------------------------------------------------------------------------------------------


def part(found: Mapping[str, Figures], loads: tuple[float, float], spins_s: Sequence[float]) -> str:
    """The page's part about Spark reports: a table of figures.

    `loads` are the load averages before and after the run, `spins_s` the results of `spin_s` between jobs.
    """

    def row(name: str, what: str, yardstick: str = "") -> str:
        figures = found[name]
        times = f"{figures.cpu_s / found[yardstick].cpu_s:.2f}" if yardstick else ""
        most = f"{_BOUNDS[name]}" if yardstick else ""
        return f"| {what} | {figures.cpu_s:.1f} | {times} | {most} | {figures.peak_mib:.0f} |"

    rows = [
        row("floor", "a bare session that adds up a thousand rows"),
        row(f"daily-{SMALL}", f"`daily` over {SMALL} lines, beside the bare session", "floor"),
    ]
    for lines in SIZES:
        rows.append(row(f"by-hand-{lines}", f"a hand-written job over {lines:,} lines"))
        rows.append(row(f"daily-{lines}", f"`daily` over {lines:,} lines", f"by-hand-{lines}"))
    rows.append(row("bare", f"{COPIED:,} lines to Parquet by a bare job: schema given, zstd"))
    rows.append(row("compact", "the same by `daily --store`, before its reports", "bare"))
    over = f"{DAYS} days of {_PRODUCERS:,} producers"
    rows += [row(name, f"`{name}` over {over}, without Spark") for name in READERS]
    return "\n".join(
        [
            f"## {REPORTS_TITLE}",
            "",
            wrapped(
                "`make bench-reports` writes this part; do not edit it. Measured "
                f"{datetime.now(UTC):%Y-%m-%d} on {platform.machine()} with {os.cpu_count()} cores, "
                f"{MASTER}. Each job runs in a process of its own. CPU seconds are those of the driver and "
                "of the JVM (all threads, with compilers and collectors), from the start of the session. The "
                "hand-written job is the least that anybody would write: it reads each line once, and adds "
                "up records by topic, client, verdict and reason. `daily` writes report and rollup. The size "
                f"is the JVM's largest, without Spark that of Python. Small jobs and copies ran {_ROUNDS} "
                "times in turn; the table has the smallest figure of each. Load average "
                f"{loads[0]:.1f} before the run, {loads[1]:.1f} after it. A loop that always does the same "
                f"took {min(spins_s):.2f} to {max(spins_s):.2f} CPU seconds between the jobs: other programs "
                "on the host share caches and cores, and that makes CPU seconds more expensive."
            ),
            "",
            "| job | CPU s | × the row before | wanted, at most | MiB |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


# --- the command -----------------------------------------------------------------------------------------


def measure(place: Path) -> tuple[dict[str, Figures], list[float]]:
    """Runs all jobs in sequence, with `spin_s` before each. A log exists only while it is needed."""
    found: dict[str, Figures] = {}
    spins_s: list[float] = []

    def measured_beside(*names: str) -> None:
        for name in names:
            spins_s.append(spin_s())
            figures = measured(name, place)
            found[name] = min(figures, found.get(name, figures))

    write_log(place / "many", SIZES[0], _PRODUCERS)
    measured("daily-many", place)
    copy_days(place / "rollup" / "many")
    measured_beside(*READERS)
    write_log(place / str(SMALL), SMALL)
    write_log(place / str(COPIED), COPIED)
    measured_beside(*_IN_TURN * _ROUNDS)
    for lines in SIZES:
        if lines != COPIED:
            write_log(place / str(lines), lines)
        measured_beside(f"by-hand-{lines}", f"daily-{lines}")
        shutil.rmtree(place / str(lines))
    return found, spins_s


def main() -> int:
    """Writes the page and returns 0. Returns 2 if the disk has too little space."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=__doc__)
    parser.add_argument("--print", action="store_true", help="print the page's part instead of writing it")
    parser.add_argument("--job", choices=(*JOBS, *READERS), help=argparse.SUPPRESS)
    parser.add_argument(
        "--place", type=Path, default=Path(tempfile.gettempdir()), help="a folder with enough space"
    )
    options = parser.parse_args()
    if options.job:
        print(json.dumps(asdict(run_job(options.job, options.place))))
        return 0
    if (free := shutil.disk_usage(options.place).free) < _SPACE_BYTES:
        print(
            f"{options.place} has {free / _GIB:.1f} GiB free, {_SPACE_BYTES / _GIB:.1f} GiB are needed: "
            "name another folder by --place.",
            file=sys.stderr,
        )
        return 2
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="tsproxy-bench-", dir=options.place) as made:
        os.environ["SPARK_LOCAL_DIRS"] = made  # for data that does not fit into memory
        found, spins_s = measure(Path(made))
    text = part(found, (load_before, os.getloadavg()[0]), spins_s)
    if options.print:
        print(text)
    else:
        page = with_reports(RESULTS.read_text(encoding="utf-8"), text)
        RESULTS.write_text(page, encoding="utf-8")
        answers.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
