"""`tsproxy decisions tail`: the newest lines of a decision log, for a person."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tsproxy.config.values import whole_number
from tsproxy.offline.commands import argument
from tsproxy.offline.decision_lines import Line, in_words, is_for_people

OK: Final = 0
MISTAKEN: Final = 2

POLL_S: Final = 0.3
MOST_LINES: Final = 100_000
"""They are held in memory before the first one is shown."""


def add_tail(tail: argparse.ArgumentParser) -> None:
    """Gives the command its arguments."""
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
        type=argument(whole_number(0, MOST_LINES)),
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
    is_wanted: Callable[[Line], bool] = bool if options.all else is_for_people
    tell: Callable[[Line], str] = json.dumps if options.json else in_words
    try:
        newest = reader.newest(options.lines, is_wanted)
        if not newest and options.lines:
            print(f"tsproxy: {options.directory} holds no such lines", file=sys.stderr)
        _show(map(tell, newest))
        while options.follow:
            time.sleep(POLL_S)
            _show(map(tell, reader.more(is_wanted)))
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        raise  # whoever read this has gone: the command's own matter
    except OSError as error:
        print(f"tsproxy: {error}: name the folder of decisions.directory", file=sys.stderr)
        return MISTAKEN
    finally:
        if reader.unreadable:
            print(
                f"tsproxy: {reader.unreadable} lines are no JSON objects and were left out", file=sys.stderr
            )
    return OK


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
    sys.stdout.flush()
