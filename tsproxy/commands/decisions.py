"""`tsproxy decisions`: shows a decision log, and the schema of its lines."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tsproxy.commands.exits import MISTAKEN, OK
from tsproxy.commands.options import add_command, argument
from tsproxy.config.values import whole_number
from tsproxy.offline.decision_lines import Line, in_words, is_for_people

HELP: Final = "read the decision log"
EXAMPLES: Final = """\
examples:
  tsproxy decisions tail --follow /var/lib/tsproxy/decisions
  tsproxy decisions schema > decisions.schema.json
"""
TAIL_EXAMPLES: Final = """\
examples:
  tsproxy decisions tail --follow /var/lib/tsproxy/decisions
  tsproxy decisions tail --lines 1000 --json | jq 'select(.topic == "orders")'

Reads the files of decisions.directory, the one that is being written among them; changes nothing.
"""
SCHEMA_EXAMPLES: Final = """\
example:
  tsproxy decisions schema > decisions.schema.json
"""

POLL_S: Final = 0.3
MAX_LINES: Final = 100_000
"""The most old lines that can be shown. All are in memory before the first one is shown."""


def add(decisions: argparse.ArgumentParser) -> None:
    topics = decisions.add_subparsers(required=True, metavar="WHAT")
    _add_tail(add_command(topics, "tail", "show the newest lines, and those that come", TAIL_EXAMPLES))
    schema = add_command(topics, "schema", "print the JSON Schema of the log's lines", SCHEMA_EXAMPLES)
    schema.set_defaults(command=_schema)


def _schema(_: argparse.Namespace) -> int:
    from tsproxy.decisions.schema import json_schema

    print(json.dumps(json_schema(), indent=2))
    return OK


def _add_tail(tail: argparse.ArgumentParser) -> None:
    tail.add_argument(
        "directory",
        metavar="DIR",
        type=Path,
        nargs="?",
        default=Path("tsproxy-decisions"),
        help="decisions.directory of the proxy (tsproxy-decisions)",
    )
    tail.add_argument(
        "--lines",
        metavar="N",
        type=argument(whole_number(0, MAX_LINES)),
        default=20,
        help="how many of those there are (20)",
    )
    tail.add_argument("--follow", action="store_true", help="go on with what is written from now on")
    tail.add_argument("--all", action="store_true", help="counters and heartbeats, too")
    tail.add_argument("--json", action="store_true", help="the lines themselves")
    tail.set_defaults(command=_tail)


def _tail(options: argparse.Namespace) -> int:
    from tsproxy.offline.decision_files import Reader

    reader = Reader(options.directory)
    is_selected: Callable[[Line], bool] = bool if options.all else is_for_people
    render: Callable[[Line], str] = json.dumps if options.json else in_words
    try:
        newest = reader.newest(options.lines, is_selected)
        if not newest and options.lines:
            print(f"tsproxy: {options.directory} holds no such lines", file=sys.stderr)
        _show(map(render, newest))
        while options.follow:
            time.sleep(POLL_S)
            _show(map(render, reader.more(is_selected)))
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        raise  # nobody reads our output any more: `cli.main` ends the command
    except OSError as error:
        print(f"tsproxy: {error}: name the folder of decisions.directory", file=sys.stderr)
        return MISTAKEN
    finally:
        for sentence in reader.set_aside.sentences():
            print(f"tsproxy: set aside: {sentence}", file=sys.stderr)
    return OK


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
    sys.stdout.flush()
