"""`python -m benchmarks`: runs the measurements and writes or prints the results."""

import argparse
import platform
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.answers import ANSWERS
from benchmarks.bench import FULL, QUICK, Bench
from benchmarks.measurements import MEASUREMENTS, Measurement
from benchmarks.page import RESULTS
from benchmarks.processes import ProgramError, workshop
from benchmarks.proxies import PEERS, PROXIES, peer
from benchmarks.report import Circumstances, table, write
from benchmarks.sections import Section
from benchmarks.tools import MissingError, load_programs


def main() -> int:
    """Returns 0, 1 if a measurement failed, or 2 for a wrong command line or a missing C compiler."""
    options = _parser().parse_args()
    if platform.system() != "Linux":
        print("The benchmarks run on Linux only: they use epoll and /proc.", file=sys.stderr)
        return 2
    chosen = [each for each in MEASUREMENTS if not options.only or each.name in options.only]
    try:
        load_programs()
    except MissingError as error:
        print(f"No load can be made: {error}", file=sys.stderr)
        return 2
    peers = [peer(name, path) for name in PEERS if (path := getattr(options, name.replace("-", "_")))]
    _allow_many_connections()
    circumstances = Circumstances.now()
    with workshop() as place:
        effort = QUICK if options.quick else FULL
        effort = replace(
            effort, rounds=options.rounds or effort.rounds, seconds=options.seconds or effort.seconds
        )
        bench = Bench(place, effort, (*PROXIES, *peers), loads_named=options.loads)
        bench.start_all()
        measured = _measure(bench, chosen)
        output: Path | None = options.output
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            write(output / RESULTS.name, output / ANSWERS.name, bench, circumstances, measured)
        elif not (options.quick or options.only or options.loads):
            write(RESULTS, ANSWERS, bench, circumstances, measured)
    for text in (*bench.missing, *bench.failed):
        print(text, file=sys.stderr)
    return 1 if bench.failed else 0


def _measure(bench: Bench, chosen: list[Measurement]) -> dict[Measurement, Section]:
    """Runs each measurement and prints its section. If one fails, the others still run."""
    measured: dict[Measurement, Section] = {}
    for measurement in chosen:
        print(f"{measurement.name}: {measurement.title} ...", file=sys.stderr, flush=True)
        begun_s = time.monotonic()
        try:
            section = measurement.measure(bench)
        except MissingError as error:
            bench.missing[str(error)] = None
        except ProgramError as error:
            bench.failed[f"{measurement.name} failed: {error}"] = None
        else:
            measured[measurement] = section
            print(f"{measurement.title}. {section.text}\n\n{table(section)}", flush=True)
        print(f"{measurement.name}: {time.monotonic() - begun_s:.0f} s", file=sys.stderr, flush=True)
    return measured


def _allow_many_connections() -> None:
    """Raises the limit of open files as far as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="What tsproxy costs, beside other proxies, as ratios."
    )
    parser.add_argument("--quick", action="store_true", help="little load: shows that it works, no figures")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"a full run: {FULL.rounds}")
    parser.add_argument("--seconds", type=float, metavar="S", help=f"a load; a full run: {FULL.seconds}")
    names = [each.name for each in MEASUREMENTS]
    parser.add_argument("--only", choices=names, metavar="NAME", action="append", help=", ".join(names))
    parser.add_argument(
        "--loads",
        default="",
        metavar="TEXT",
        help="of the relay loads those whose name holds TEXT: '1 KB', 'TLS'",
    )
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write both pages there")
    for name in PEERS:
        parser.add_argument(f"--{name}", type=Path, metavar="PATH", help=f"measure {name}, too")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
