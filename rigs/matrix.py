"""`make matrix`: runs the promised versions of Spark and Kafka, and keeps what came of each.

Each Spark makes the reports of the same days, some of whose lines are spoilt, packed, wrapped or late. All it
writes must be equal to what the pinned Spark writes. Each Kafka judges generated batches
(`rigs.differential`), and one of them behind a proxy for ARM, too (`rigs.arm64`). The rows are in
matrix.json, and docs/reference/support.md is made from them.

To run other versions: `python -m rigs.matrix --spark 4.1.4 --kafka 3.8.1`. Java is that of JAVA_HOME.
"""

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rigs import arm64
from tests.kit.commands import made_once, output_of
from tests.spark_reports.damage import a_random_day
from tests.spark_reports.day import FRIDAY
from tests.spark_reports.spoilt import spoilt

TABLE: Final = Path(__file__).with_name("matrix.json")
SPARKS: Final = ("3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0")
KAFKAS: Final = (
    *("2.8.2", "3.0.2", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2"),
    *("3.8.1", "3.9.1", "4.0.1", "4.1.1", "4.2.0", "4.3.1", "4.4.0"),
)
BATCHES: Final = 1_000
_DAYS: Final = [FRIDAY, FRIDAY + timedelta(days=3)]
_TRIPPED: Final = 3
"""The status of `daily` for a log with lines that cannot be read."""
_OF_RUN: Final = {"generated_ts", "now_ms"}
"""The names of times at which a report was made."""

_SHOWN: Final = ("with", "result", "date", "commit")

Row = dict[str, str]


def write_log(folder: Path) -> None:
    """Two days of three proxies (`damage`), one file packed, one wrapped by a shipper, and spoilt lines."""
    for number in range(len(_DAYS)):
        a_random_day(7, folder, number)
    first, second, *_ = sorted(folder.glob("*.jsonl"))
    first.with_name(f"{first.name}.gz").write_bytes(gzip.compress(first.read_bytes()))
    first.unlink()
    wrapped = [json.dumps({"message": line}) for line in second.read_text().splitlines()]
    second.write_text("\n".join(wrapped))
    lines = [json.dumps({**line, "cluster_id": "lkc-1"}) for _, line in spoilt()]
    folder.joinpath(f"decisions-{_DAYS[0]:%Y%m%d}T100000Z-spoilt.jsonl").write_text(
        "\n".join([*lines, "{torn"])
    )


def of_spark(spark: str, log: Path, store: Path) -> dict[str, object]:
    """All that this Spark's `daily` and the readers of its rollup write and say, without times."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target"]
    packages = made_once(f"spark-{spark}", lambda folder: output_of(*pip, folder, f"pyspark=={spark}"))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(packages), os.getcwd()])}

    def said(*arguments: object) -> str:
        command = [sys.executable, "-m", "spark_reports", *map(str, arguments)]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if ended.returncode not in (0, _TRIPPED):
            raise SystemExit(f"{spark}: {' '.join(command)} ended with {ended.returncode}: {ended.stderr}")
        return ended.stdout + ended.stderr

    found: dict[str, object] = {}
    for day in _DAYS:
        found[f"daily {day}"] = said("daily", "--date", day, "--input", log, "--store", store, "--quiet")
    period = ("--date", _DAYS[-1], "--rollup", store / "rollup")
    found["trend"] = said("trend", *period)
    found["what-if"] = said("what-if", *period, "--after", "1h", "--before", "7d")
    for file in sorted(store.rglob("*.json")):
        found[str(file.relative_to(store))] = _without_times(json.loads(file.read_text()))
    missing = {f"reports/{day}/report.json" for day in _DAYS} - found.keys()
    if missing:
        raise SystemExit(f"{spark} wrote no {', '.join(sorted(missing))}")
    return found


def _without_times(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_times(item) for name, item in value.items() if name not in _OF_RUN}
    return value


def sparks(versions: list[str]) -> Iterator[Row]:
    """A row for each Spark beside the pinned one."""
    with TemporaryDirectory() as made:
        place = Path(made)
        write_log(place / "log")
        pinned = of_spark(version("pyspark"), place / "log", place / "pinned")
        for spark in versions:
            found = of_spark(spark, place / "log", place / spark)
            other = sorted(name for name in pinned.keys() | found if pinned.get(name) != found.get(name))
            yield _row("Spark", spark, f"other: {', '.join(other)}" if other else "equal")


def kafkas(versions: list[str]) -> Iterator[Row]:
    """A row for each Kafka."""
    for kafka in versions:
        command = [sys.executable, "-m", "rigs.differential", str(BATCHES), "--versions", kafka]
        ended = subprocess.run(command, check=False)
        result = "other than intended" if ended.returncode else "intended differences only"
        yield _row("Kafka", kafka, result)


def on_arm64(versions: list[str]) -> Iterator[Row]:
    """A row for each Kafka, behind a proxy for ARM."""
    for kafka in versions:
        is_good, *machine = arm64.tried(kafka, BATCHES)
        result = "intended differences only" if is_good else "other than intended"
        yield _row("Kafka", kafka, result, *machine)


def java() -> str:
    """The version of Java that a program started here has."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else "java"
    return output_of(program, "-version").split('"')[1].split(".")[0]


def _row(
    what: str, tried: str, result: str, python: str = platform.python_version(), on: str = platform.machine()
) -> Row:
    commit = output_of("git", "rev-parse", "--short", "HEAD").strip()
    beside = f"Python {python}, Java {java()}, {on}"
    day = str(datetime.now(UTC).date())
    return {"what": what, "version": tried, "with": beside, "date": day, "commit": commit, "result": result}


def kept(rows: list[Row], row: Row) -> list[Row]:
    """The rows with this one in the place of an older one of the same version, Python and Java."""
    key = ("what", "version", "with")
    others = [old for old in rows if any(old[name] != row[name] for name in key)]
    return sorted([*others, row], key=lambda each: (each["what"], _numbers(each["version"]), each["with"]))


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(".")]


def as_table() -> str:
    """The rows as Markdown, for docs/reference/support.md. Versions with one result are one row."""
    tried: dict[tuple[str, ...], list[str]] = {}
    for row in json.loads(TABLE.read_text(encoding="utf-8")):
        tried.setdefault((row["what"], *(row[name] for name in _SHOWN)), []).append(row["version"])
    cells = [[f"{what} {', '.join(versions)}", *shown] for (what, *shown), versions in tried.items()]
    head = ["| version | with | result | date | commit |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in cells)])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m rigs.matrix", description=__doc__)
    parser.add_argument("--spark", nargs="*", default=[])
    parser.add_argument("--kafka", nargs="*", default=[])
    parser.add_argument("--arm64", nargs="*", default=[], metavar="KAFKA")
    options = parser.parse_args()
    is_all = not (options.spark or options.kafka or options.arm64)
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    is_good = True
    for made in (
        sparks(options.spark or list(SPARKS) * is_all),
        kafkas(options.kafka or list(KAFKAS) * is_all),
        on_arm64(options.arm64 or list(KAFKAS[-1:]) * is_all),
    ):
        for row in made:
            print(json.dumps(row), flush=True)
            rows = kept(rows, row)
            is_good = is_good and not row["result"].startswith("other")
            TABLE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
