"""`python -m benchmarks.fleet`: a night of a fleet: 1,000 proxies and 10,000 producers.

It writes a day of decision logs, and runs `spark_reports night` over it, and again over the day after, as a
scheduler does. It writes CPU seconds, memory of the driver with its JVM, files and bytes of the table to the
last part of benchmarks.md. The figures of a year are computed from the second night, and are marked so.

Each proxy writes a file each quarter of an hour, as it does with `decisions.rotate.every: 15m`. Its interval
is `--interval` minutes, and each producer sends through one proxy. The log lies in folders by day.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.day import ACCEPTED, REJECTED
from benchmarks.page import PAGE, with_fleet, wrapped

_DAY: Final = date(2026, 11, 20)
_MASTER: Final = "local[2]"
_MINUTES: Final = 1_440
_FILE_MINUTES: Final = 15
_BATCHES: Final = 60
_RECORDS: Final = 25
_DAYS_A_YEAR: Final = 365
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Fleet:
    """The size of a fleet, and the minutes of an interval of its proxies."""

    proxies: int
    producers: int
    interval: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of a night, and what it left behind."""

    cpu_s: float
    wall_s: float
    peak_mib: float
    files: int
    table_bytes: int


# --- the log ---------------------------------------------------------------------------------------------


def write_day(folder: Path, fleet: Fleet, day: date) -> tuple[int, int, int]:
    """Write the log of a day. Returns its lines, files and bytes."""
    lines = files = size = 0
    own = fleet.producers // fleet.proxies
    for proxy in range(fleet.proxies):
        clients = range(proxy * own, (proxy + 1) * own)
        seq = 0 if day == _DAY else (_MINUTES // fleet.interval) * (own + 1)
        place = folder / f"{day}" / f"px-{proxy:04}"
        place.mkdir(parents=True)
        for start in range(0, _MINUTES, max(_FILE_MINUTES, fleet.interval)):
            minutes = range(start, min(start + max(_FILE_MINUTES, fleet.interval), _MINUTES), fleet.interval)
            content = b"".join(_lines(day, proxy, seq, minutes, clients, fleet.interval))
            seq += len(minutes) * (own + 1)
            name = f"decisions-{day:%Y%m%d}T{start // 60:02}{start % 60:02}00Z-px-{proxy:04}-b.jsonl"
            (place / name).write_bytes(content)
            lines, files, size = lines + content.count(b"\n"), files + 1, size + len(content)
    return lines, files, size


def _lines(day: date, proxy: int, seq: int, minutes: range, clients: range, interval: int) -> Iterator[bytes]:
    """The counters of each client, and a heartbeat, for each of the intervals."""
    for minute in minutes:
        start = f"{day}T{minute // 60:02}:{minute % 60:02}:00.000Z"
        end = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=minute + interval)
        common = {
            "ts": f"{end:%Y-%m-%dT%H:%M:%S}.000Z",
            "v": 1,
            "proxy": f"px-{proxy:04}",
            "boot": f"b{proxy}",
        }
        span = {"interval_start": start, "interval_ms": interval * 60_000}
        first = seq
        for client in clients:
            yield _json({**common, "seq": seq, **span, **_counters(client, seq, start)})
            seq += 1
        beat = {"lines_dropped": 0, "decisions_suppressed": 0, "batches_folded": 0, "seq_first": first}
        yield _json({**common, "seq": seq, "event": "heartbeat", **span, **beat})
        seq += 1


def _counters(client: int, seq: int, at: str) -> dict[str, Any]:
    """The counters of a client. One client of a hundred sends nanoseconds."""
    is_bad = client % 100 == 0
    drawn = (seq * 7_919 + client * 104_729) % 100_003  # as good as chance here, and quicker
    records = _BATCHES * _RECORDS
    how = REJECTED if is_bad else ACCEPTED
    bucket = -30 + drawn % 19
    return {
        "event": "counters", "cluster_id": "lkc-1", "listener": "public", "topic": f"topic-{client % 200}",
        "client_id": f"service-{client}", "principal": f"User:svc-{client}", **how, "is_final": True,
        "batches": _BATCHES, "records": records, "bad_records": records if is_bad else 0,
        "collateral_records": 0, "bytes": records * 100, "requests": _BATCHES, "first_ts": at, "last_ts": at,
        "drift_min_ms": -900 - drawn % 100, "drift_max_ms": -3 - drawn % 97,
        "addresses": [f"10.{client % 250}.0.1"], "hist": "drift-v1",
        "ahead": [[bucket, _BATCHES, records]], "behind": [[bucket, _BATCHES, records]],
    }  # fmt: skip


def _json(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


# --- the night -------------------------------------------------------------------------------------------


def night(place: Path, day: date) -> None:
    """`spark_reports night` in this process; prints its figures as JSON."""
    from benchmarks.spark_jobs import of_process
    from spark_reports.cli import main
    from spark_reports.spark.session import spark_session

    began = time.monotonic()
    with spark_session(_MASTER, is_brief=False) as spark:
        code = main(
            [
                *("night", "--date", str(day), "--input", str(place / "log" / "{date}")),
                *("--table", str(place / "lines"), "--rollup", str(place / "rollup")),
                *("--output", str(place / "reports"), "--quiet"),
            ]
        )
        if code:
            raise SystemExit(f"night ended with {code}")
        gateway: Any = spark.sparkContext._gateway  # the only way to the JVM's process
        cpu_s, peak_mib = of_process(gateway.proc.pid)
    own = resource.getrusage(resource.RUSAGE_SELF)
    table = list((place / "lines" / f"event_date={day}").glob("*.parquet"))
    found = Figures(
        cpu_s=cpu_s + own.ru_utime + own.ru_stime,
        wall_s=time.monotonic() - began,
        peak_mib=peak_mib + own.ru_maxrss / 1024,
        files=len(table),
        table_bytes=sum(path.stat().st_size for path in table),
    )
    print(json.dumps(asdict(found)))


def measured(place: Path, day: date) -> Figures:
    """The figures of a night in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.fleet", "--night", str(day), "--place", str(place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


# --- the answer ------------------------------------------------------------------------------------------


def part(fleet: Fleet, log: tuple[int, int, int], nights: list[Figures]) -> str:
    """The page's part about a fleet: the figures as Markdown."""
    lines, files, size = log
    first, second = nights
    year_files, year_gib = second.files * _DAYS_A_YEAR, second.table_bytes * _DAYS_A_YEAR / 1024 * _MIB**-1
    return "\n".join(
        [
            "## A night of a fleet",
            "",
            wrapped(
                "`make bench-fleet` writes this part; do not edit it. Two nights of `spark_reports night`, "
                f"measured {datetime.now(UTC):%Y-%m-%d} on {platform.machine()} with {os.cpu_count()} cores, "
                f"{_MASTER}, at a load average of {os.getloadavg()[0]:.1f}. A day is {fleet.proxies:,} "
                f"proxies and {fleet.producers:,} producers, with intervals of {fleet.interval} min: "
                f"{lines:,} lines in {files:,} files, {size / _MIB:,.0f} MiB. It lies in folders by day."
            ),
            "",
            "| | CPU s | wall s | MiB (driver and JVM) | files of the table | MiB of the table |",
            "| --- | --- | --- | --- | --- | --- |",
            *(
                f"| {name} | {each.cpu_s:.0f} | {each.wall_s:.0f} | {each.peak_mib:.0f} | {each.files} | "
                f"{each.table_bytes / _MIB:.1f} |"
                for name, each in (
                    ("the first night", first),
                    ("the next one, with the day before again", second),
                )
            ),
            "",
            wrapped(
                f"Computed from the second night and not measured: a year is {year_files:,} files and "
                f"{year_gib:.1f} GiB of table, {files * _DAYS_A_YEAR / 1e6:.0f} million files of logs, and "
                f"{second.cpu_s * _DAYS_A_YEAR / 3600:.0f} CPU hours."
            ),
            "",
        ]
    )


def run() -> int:
    """Measures two nights, and writes the page's part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--proxies", type=int, default=1_000)
    parser.add_argument("--producers", type=int, default=10_000)
    parser.add_argument("--interval", type=int, default=15, help="minutes of an interval (default 15)")
    parser.add_argument("--place", type=Path, default=Path(tempfile.gettempdir()), help="2 GB of space")
    parser.add_argument("--print", action="store_true", help="print the page's part instead of writing it")
    parser.add_argument("--night", type=date.fromisoformat, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.night:
        night(options.place, options.night)
        return 0
    fleet = Fleet(options.proxies, options.producers, options.interval)
    place = Path(tempfile.mkdtemp(prefix="tsproxy-fleet-", dir=options.place))
    try:
        nights = []
        for day in (_DAY, _DAY + timedelta(days=1)):
            log = write_day(place / "log", fleet, day)
            nights.append(measured(place, day))
            print(f"{day}: {nights[-1]}", file=sys.stderr, flush=True)
        text = part(fleet, log, nights)
        if options.print:
            print(text)
        else:
            PAGE.write_text(with_fleet(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    finally:
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    raise SystemExit(run())
