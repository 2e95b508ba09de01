"""The page in Markdown: all sections, the date, the machine and the noise of the run."""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import answers
from benchmarks.bench import Bench
from benchmarks.measurements import Measurement
from benchmarks.page import MissingFigureError, with_proxy, wrapped
from benchmarks.sections import Section

_CPU_NAME = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)

_PREFACE = """\
# Results of the benchmarks

"""
_ABOUT = (
    "`make bench` (`python -m benchmarks`) writes this page; do not edit it. All figures are ratios between "
    "programs that ran on one machine in one run, in paired and alternating rounds. Nanoseconds, "
    "milliseconds and MiB appear only where a question asks for them. Another machine gives other figures: "
    "run the benchmarks there."
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The run itself: when it began, and the load average before it."""

    begun: datetime
    load_before: float

    @staticmethod
    def now() -> "Circumstances":
        return Circumstances(datetime.now(UTC), os.getloadavg()[0])


def write(
    results: Path,
    to: Path,
    bench: Bench,
    circumstances: Circumstances,
    measured: Mapping[Measurement, Section],
) -> None:
    """Writes the results, and `to`, the page with the answers."""
    there = results.read_text(encoding="utf-8") if results.exists() else ""
    page = with_proxy(there, markdown(bench, circumstances, measured))
    results.write_text(page, encoding="utf-8")
    try:
        answers.write(results, to)
    except MissingFigureError as error:
        bench.missing[f"{to.name} is not written: {error}"] = None


def markdown(bench: Bench, circumstances: Circumstances, measured: Mapping[Measurement, Section]) -> str:
    parts = [_PREFACE + wrapped(_ABOUT) + "\n", _about(bench, circumstances)]
    parts += [_section(measurement, section) for measurement, section in measured.items()]
    if bench.missing:
        parts.append("## Left out\n\n" + _list(list(bench.missing)))
    if bench.failed:
        parts.append("## Failed\n\n" + _list(list(bench.failed)))
    return "\n".join(parts)


def table(section: Section) -> str:
    lines = (section.head, tuple("---" for _ in section.head), *section.rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _section(measurement: Measurement, section: Section) -> str:
    text = f"## {measurement.title}\n\n`python -m benchmarks --only {measurement.name}`\n\n"
    return text + wrapped(section.text) + "\n\n" + table(section)


def _about(bench: Bench, circumstances: Circumstances) -> str:
    effort = bench.effort
    return _list(
        [
            f"Date: {circumstances.begun:%Y-%m-%d}",
            f"Length: {(datetime.now(UTC) - circumstances.begun).total_seconds() / 60:.0f} minutes",
            f"Machine: {os.cpu_count()} CPUs, {_cpu_name()}, {platform.system()} {platform.release()}, "
            f"CPython {platform.python_version()}",
            f"Effort: {effort.rounds} rounds of {effort.seconds:g} s; the proxy has a CPU of its own if "
            "there are two",
            f"Noise: load average {circumstances.load_before:.1f} before the run, {os.getloadavg()[0]:.1f} "
            "after it; `haproxy, again` shows what noise alone does to a ratio that should be 1",
        ]
    )


def _cpu_name() -> str:
    found = _CPU_NAME.search(Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def _list(lines: Sequence[str]) -> str:
    return "".join(f"{wrapped(line, begin='- ')}\n" for line in lines)
