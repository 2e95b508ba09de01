"""`spark_reports render`: convert a report.json to another format (without Spark)."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from spark_reports import arguments
from spark_reports.exits import OK, NotAReportError
from spark_reports.render import html, prom
from spark_reports.report.files import read_report, to_json, write_text
from spark_reports.report.shape import Report

FORMATS: Final[Mapping[str, Callable[[Report], str]]] = MappingProxyType(
    {
        "html": html.render,
        "json": to_json,
        "prom": prom.render,
    }
)


_EXAMPLE: Final = """example:
  spark_reports render out/report.json --format html -o report.html
"""


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(
        commands, "render", "convert a report.json to another format (without Spark)", _EXAMPLE
    )
    parser.add_argument("report", type=Path, metavar="REPORT.json", help="the file to show")
    parser.add_argument("--format", choices=FORMATS, default="html", help="the form (html)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    report = read_report(options.report)
    try:
        text = FORMATS[options.format](report)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise NotAReportError(
            f"{options.report} is called a report, but is not of its form ({type(error).__name__}: {error})"
        ) from error
    if options.output is None:
        sys.stdout.write(text)
    else:
        write_text(options.output, text)
    return OK
