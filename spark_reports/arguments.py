"""The arguments that several commands share, and their types."""

import argparse
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeAlias, TypedDict, TypeVar

from spark_reports.log import inputs
from spark_reports.report import files, gates, owners
from spark_reports.report.owners import Owners
from spark_reports.report.shape import from_json

MAX_DAYS: Final = 7
"""A daily report shows each hour. A longer period has too many hours."""

MANY_DAYS: Final = 366
"""The longest period of commands that do not show hours."""

_YEARS: Final = (1970, 9998)
"""The first and the last year of a period. The log has no other years, and Python also has dates for the day
before and the day after them."""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Arguments: TypeAlias = "argparse._ActionsContainer"
T = TypeVar("T")


def add_command(commands: Commands, name: str, purpose: str, examples: str) -> argparse.ArgumentParser:
    """Add a command, and return its parser. The help shows the examples as they are."""
    as_it_is = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(
        name, help=purpose, description=purpose, epilog=examples, formatter_class=as_it_is
    )
    parser.set_defaults(parser=parser)
    return parser


def read_by(parse: Callable[[str], T]) -> Callable[[str], T]:
    """The type of an argument that `parse` reads. The text of its OSError or ValueError is shown."""

    def read(text: str) -> T:
        try:
            return parse(text)
        except (OSError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def add_period(parser: Arguments, most_days: int = MAX_DAYS) -> None:
    """Add `--date`. It is None if it is not given; `period_of` has the default."""
    up_to = f", or up to {most_days} days" if most_days > 1 else ""
    parser.add_argument(
        "--date",
        type=_period_within(most_days),
        metavar="DAY[..DAY]" if up_to else "DAY",
        help=f"UTC day such as 2026-11-20{up_to}; default: yesterday",
    )


def period_of(options: argparse.Namespace) -> tuple[date, date]:
    """The first and the last day of the period; yesterday by default."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    period: tuple[date, date] = options.date or (yesterday, yesterday)
    return period


def add_input(parser: Arguments) -> None:
    parser.add_argument(
        "--input",
        nargs="+",
        type=read_by(inputs.checked),
        required=True,
        metavar="PATH",
        help="directories, files or globs of decision logs, on any file system that Spark knows; {date} "
        "stands for the day",
    )
    parser.add_argument(
        "--skip-damaged-files",
        action="store_true",
        help="skip unreadable parts of files (a truncated .gz); the log is then incomplete and names them",
    )


def add_input_format(parser: Arguments) -> None:
    parser.add_argument(
        "--input-format",
        choices=["json", "parquet"],
        default="json",
        help="json (default): the files of the proxy; else a table that `daily --store` wrote, DIR/lines",
    )


def add_gates(parser: Arguments, *, is_required: bool = False) -> None:
    parser.add_argument(
        "--fail-on",
        action="append",
        type=read_by(gates.parse),
        default=[],
        required=is_required,
        metavar="GATE",
        help="exit code 3 if it holds, e.g. 'rejected_rate>1%%'; "
        + (f"of {', '.join(gates.MEASURES)}" if is_required else "`gate --help` lists the measures"),
    )


def owners_file(path: str) -> Owners | str:
    """The owners from a file on this machine. For any other file: its address."""
    here = files.local(path)
    return path if here is None else owners.parse(here.read_text(encoding="utf-8"), path)


class Scan(TypedDict):
    """A cluster's `retention.ms` by topic, as `tsproxy scan --json` prints it."""

    cluster_id: str | None
    retention_ms: dict[str, int]


def scan(path: str) -> Scan:
    """A file of `tsproxy scan --json`. Raises OSError, and ValueError for another file."""
    if (here := files.local(path)) is None:
        raise ValueError(f"{path}: must be on this machine")
    known = from_json(Scan, here.read_text(encoding="utf-8", errors="replace"), {"cluster_id": None})
    if known is None:
        raise ValueError(f"{path} is not what `tsproxy scan --json` prints, with retention_ms")
    return known


def add_master(parser: Arguments) -> None:
    parser.add_argument(
        "--master", metavar="URL", help="Spark master; default: spark-submit's, else local[*]"
    )


def positive(text: str) -> int:
    """A number from 1 to 10,000."""
    if not text.isdecimal() or not 0 < int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 10000")
    return int(text)


def _period_within(most_days: int) -> Callable[[str], tuple[date, date]]:
    def period(text: str) -> tuple[date, date]:
        first, _, last = text.partition("..")
        try:
            days = date.fromisoformat(first), date.fromisoformat(last or first)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a day such as 2026-11-20, or two with .."
            ) from None
        if not 0 <= (days[1] - days[0]).days < most_days:
            is_not = f"is not a period of 1 to {most_days} days" if most_days > 1 else "is not one day"
            raise argparse.ArgumentTypeError(f"{text!r} {is_not}")
        if not _YEARS[0] <= days[0].year <= days[1].year <= _YEARS[1]:
            raise argparse.ArgumentTypeError(f"{text!r} lies outside of the years {_YEARS[0]} to {_YEARS[1]}")
        return days

    return period


def add_question(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `trend` and `what-if`: days, rollup, number of rows, form of the answer."""
    add_period(parser, MANY_DAYS)
    parser.add_argument("--rollup", required=True, metavar="DIR", help="as given to `daily --rollup`")
    parser.add_argument("--top", type=positive, default=20, metavar="N", help="producers listed (default 20)")
    parser.add_argument(
        "--owners",
        type=read_by(owners_file),
        metavar="FILE",
        help="the file of `daily --owners`: its applications",
    )
    parser.add_argument("--team", metavar="TEAM", help="only producers of this team of --owners")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
