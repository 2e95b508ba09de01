"""Many small logs, read at once: Spark takes longer to plan a query than to read a hundred lines.

Each log is a file of its own, with proxies and processes of its own, so nothing of one log concerns another.
"""

from spark_reports.log import read
from spark_reports.log.completeness import Evidence
from tests.spark_reports import collected
from tests.spark_reports.day import FRIDAY
from tests.spark_reports.logs import write


class Logs:
    """The logs of all modules that were collected. The first one that a test asks about reads them all."""

    def __init__(self):
        self._logs = []
        self._read = None

    def add(self, *lines, raw=""):
        """A log of these lines, and of raw text. It returns the number by which a test asks about the log."""
        self._logs.append((lines, raw))
        return len(self._logs) - 1

    def evidence(self, spark, tmp_path_factory, number):
        """The evidence about one of the logs, which has the file name a.jsonl."""
        if self._read is None:
            folder = tmp_path_factory.mktemp("logs")
            for each, (lines, raw) in enumerate(self._logs):
                write(folder / f"{each}.jsonl", *[_renamed(line, _mark(each)) for line in lines], raw=raw)
            source = read.Source([str(folder / "*.jsonl")], FRIDAY, FRIDAY)
            self._read = collected.evidence(spark, source, listed=10**6)
        mark, file = _mark(number), f"{number}.jsonl"
        boots, gaps = (
            [_renamed(row, mark, back=True) for row in rows if row["boot"].startswith(mark)]
            for rows in (self._read.boots, self._read.gaps)
        )
        files = [
            row | {"file": "a.jsonl", "example": row["example"] and row["example"].replace(mark, "")}
            for row in self._read.files
            if row["file"] == file
        ]
        return Evidence(boots, gaps, files)


LOGS = Logs()


def _mark(number):
    return f"log-{number}-"


def _renamed(named, mark, *, back=False):
    """The line or row with the names of one log only; `back`: with its own names again."""
    own = {name: named[name] for name in ("proxy", "boot") if isinstance(named.get(name), str)}
    if back:
        return named | {name: value.removeprefix(mark) for name, value in own.items()}
    return named | {name: mark + value for name, value in own.items()}
