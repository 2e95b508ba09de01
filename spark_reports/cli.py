"""The command `spark_reports`: it reads the arguments, runs one command and returns the exit code.

The exit codes are those of `model.exits`. 2 is also the code of an input that does not exist, and 3 of lines
that are unusable.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from spark_reports.commands import daily, doctor, gate, report, trend, what_if
from spark_reports.errors import FailedError, UsageError
from tsproxy import __version__
from tsproxy.model.exits import FAILED, INTERRUPTED, MISTAKEN, flush_output, print_any_sign
from tsproxy.model.words import listed, unknown_argument, unknown_command

GROUPS: Final = {
    "Begin with these three": {"daily": daily, "gate": gate, "doctor": doctor},
    "Ask about days in the rollup (without Spark)": {"what-if": what_if, "trend": trend, "report": report},
}
"""The groups of `--help`, with their commands."""
COMMANDS: Final = {name: command for group in GROUPS.values() for name, command in group.items()}
_TEAMS: Final = "--owners writes a folder for each team, with its text in latest.json"
_OWN_LINKS: Final = "report.json has the client_id and the principal of each producer, for links of your own"
REMOVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "stream": "run daily on the files as often as you like; a sink connector or "
        "kafka-console-consumer.sh writes the values of decisions.topic as lines of a file",
        "night": "daily --input PATH --store DIR does it, with the table in DIR/lines; --fail-on checks "
        "corrupt_rate",
        **dict.fromkeys(("trend --master", "what-if --master", "gate --master"), "it runs without Spark"),
        "compact": "daily --store DIR writes the table, DIR/lines",
        "render": "daily and report write each form (--format)",
        "daily --index": "--store DIR writes DIR/reports/index.html",
        "report --index": "it links to the index.html in the folder above --output",
        "daily --link-template": _OWN_LINKS,
        "daily --each": "--store DIR makes the report of each day",
        "daily --notify": _TEAMS,
        "daily --notify-dir": _TEAMS,
    }
)
"""A command that was given up, or a command and its option (`daily --option`) -> what to do instead."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    print_any_sign()
    words = sys.argv[1:] if arguments is None else arguments
    root = parser()
    if (text := unknown_command(words, COMMANDS, REMOVED)) is not None:
        root.error(text)
    options, unread = root.parse_known_args(words)
    if unread:
        options.parser.error(unknown_argument(unread[0], options.parser.format_usage()))
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _complain(str(error), MISTAKEN)
    except BrokenPipeError:
        flush_output()
        return FAILED
    except OSError as error:
        flush_output()
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)
    except FailedError as error:
        return _complain(str(error), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED


def _complain(text: str, code: int) -> int:
    sys.stderr.write(f"spark_reports: {text}\n")
    return code


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        prog="spark_reports",
        usage="spark_reports [-h] [--version] COMMAND ...",
        description="Reports from tsproxy's decision log. All days are UTC days.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"spark_reports of tsproxy {__version__}")
    commands = root.add_subparsers(
        prog="spark_reports", required=True, metavar="COMMAND", help=argparse.SUPPRESS
    )
    for command in COMMANDS.values():
        command.add(commands)
    examples = [str(commands.choices[name].epilog).splitlines()[1] for name in COMMANDS]
    root.epilog = "\n".join(["examples:", *examples])
    for title, group in GROUPS.items():
        root.add_argument_group(
            title, listed({name: commands.choices[name].description or "" for name in group})
        )
    return root
