"""docs/evidence/benchmarks.md: what a user asks, and the targets, with the figures of results.md.

    python -m benchmarks.answers

This command writes the page again. A run of the benchmarks that writes results.md does so, too, and a test
compares both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measurements import MEASUREMENTS
from benchmarks.page import REPORTS_TITLE, RESULTS, cell, number, table, wrapped
from benchmarks.targets import counted
from benchmarks.targets import lines as targets

ANSWERS: Final = RESULTS.parents[1] / "docs" / "evidence" / "benchmarks.md"

_TITLES: Final = {each.name: each.title for each in MEASUREMENTS}
_SIZES: Final = ("1 KB, 8×5", "16 KB, 8×5", "100 KB, 8×5", "1 MB, 8×5")
_END_TO_END: Final = _TITLES["end-to-end"]
_BUSY: Final = 0.6
"""The share of a core that a worker may use at the busiest time."""
_TEXT: Final = (
    "A ratio of 1 is haproxy, which reads nothing, on the same machine in the same run. Another machine "
    "gives other figures. [All results](../../benchmarks/results.md) have the machine, the date and the "
    "spread of each figure. `make bench` and `make bench-reports` write both pages."
)


def _all(title: str, rows: tuple[str, ...], column: str, page: str) -> str:
    return " / ".join(cell(page, title, row, column) for row in rows)


def _compressed(page: str) -> str:
    rows = ("100 KB lz4, 8×5", "100 KB zstd, 8×5")
    by_default, whole = (_all(_TITLES["adaptive"], rows, f"`{way}`", page) for way in ("adaptive", "all"))
    return f"{by_default}; with `inspect.compressed: all`, {whole}"


def _producers(page: str) -> str:
    clients = ("librdkafka", "Java", "franz-go")
    plain, lz4 = (
        _all(_TITLES["clients"], tuple(f"{each}, {codec}" for each in clients), "tsproxy", page)
        for codec in ("plain", "lz4")
    )
    return f"{plain}; with lz4, by default, {lz4}"


def _delay(page: str) -> str:
    ours, none = (cell(page, _END_TO_END, through, "p99, ms") for through in ("tsproxy", "no proxy"))
    return f"p99 {ours} ms; {none} ms without a proxy"


def _traffic(page: str) -> str:
    rows = ("100 KB, 8×5", "100 KB lz4, 8×5, TLS", "Fetch, 1 MB, 8×1, TLS")
    ms_a_mb = (number(cell(page, _TITLES["capacity"], row, "CPU, ms a MB")) for row in rows)
    return " / ".join(f"{_BUSY / each:.2g}" for each in ms_a_mb) + " GB/s"


def _memory(page: str) -> str:
    title = _TITLES["idle"]
    plain, tls = (cell(page, title, row, "a connection") for row in ("tsproxy", "tsproxy, TLS"))
    return f"{cell(page, title, 'tsproxy', 'before')}, and {plain} a connection ({tls} with TLS)"


def _worst(page: str) -> str:
    steps = [
        number(row[column])
        for name in ("worst", "found")
        for row in table(page, _TITLES[name]).values()
        for column in row
        if column.startswith("longest step")
    ]
    return f"{max(steps):.0f} ms"


def _night(page: str) -> str:
    rows = ("`daily` over 200,000 lines", "`daily` over 1,000,000 lines")
    few, many = (cell(page, REPORTS_TITLE, row, "CPU s") for row in rows)
    return f"{few} / {many} CPU seconds"


@dataclass(frozen=True, slots=True)
class Question:
    """A row: the question, how its answer follows from the page, and the command that measures it again."""

    text: str
    answer: Callable[[str], str]
    command: str


def _only(name: str) -> str:
    return f"python -m benchmarks --only {name}"


QUESTIONS: Final = (
    Question(
        "CPU for uncompressed batches of 1 KB / 16 KB / 100 KB / 1 MB a request",
        partial(_all, _TITLES["relay"], _SIZES, "tsproxy"),
        _only("relay"),
    ),
    Question(
        "The same with TLS",
        partial(_all, _TITLES["relay"], tuple(f"{size}, TLS" for size in _SIZES), "tsproxy"),
        _only("relay"),
    ),
    Question("100 KB compressed with lz4 / zstd, by default", _compressed, _only("adaptive")),
    Question(
        "CPU with a real producer of 1 KB records, librdkafka / Java / franz-go",
        _producers,
        _only("clients"),
    ),
    Question(
        "CPU for consumers: answers of 16 KB / 1 MB from a real broker",
        partial(_all, _TITLES["consume"], ("16 KB, broker", "1 MB, broker"), "tsproxy"),
        _only("consume"),
    ),
    Question("Time until a record is acknowledged, at 5,000 records a second", _delay, _only("end-to-end")),
    Question(
        "The traffic of one worker at 60% of a core: 100 KB / 100 KB of lz4 with TLS / read with TLS "
        "([how many machines](capacity.md))",
        _traffic,
        _only("capacity"),
    ),
    Question("Memory of a process", _memory, _only("idle")),
    Question(
        "CPU if every batch is rejected, 1 KB / 100 KB; forwarding is 1",
        partial(_all, _TITLES["reject"], ("1 KB, 8×5", "100 KB, 8×5"), "rejecting / relaying"),
        _only("reject"),
    ),
    Question("The longest time that the worst client can hold up the others", _worst, _only("worst found")),
    Question("A night's report, 200,000 / 1,000,000 lines", _night, "make bench-reports"),
)


def answers(page: str) -> str:
    """The page with the answers, by the results. Raises MissingFigureError."""
    lines = [
        "# Benchmarks",
        "",
        wrapped(_TEXT),
        "",
        "| question | answer | how to repeat it |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {each.text} | {each.answer(page)} | `{each.command}` |" for each in QUESTIONS]
    lines += ["", "## Targets", "", counted(page), ""]
    lines += ["| question | figure | bound | measured |  |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(line)} |" for line in targets(page)]
    return "\n".join([*lines, ""])


def write(results: Path = RESULTS, to: Path = ANSWERS) -> None:
    """Writes the answers again. Raises MissingFigureError."""
    to.write_text(answers(results.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
