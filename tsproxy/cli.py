"""The command `tsproxy`: its subcommands, and the exit code.

After a user's mistake the command prints a sentence, never a traceback. The sentence says which field is
wrong, what it holds, what is allowed, and what to do.
"""

import argparse
import errno
import sys
from collections.abc import Callable, Sequence
from typing import Final

from tsproxy import __version__
from tsproxy.commands import check, doctor, explain, run, scan
from tsproxy.commands.options import add_command, meant
from tsproxy.commands.removed import REMOVED
from tsproxy.config import ConfigError
from tsproxy.model.exits import FAILED, INTERRUPTED, MISTAKEN, flush_output, print_any_sign
from tsproxy.model.words import listed, unknown_argument, unknown_command

GROUPS: Final = {
    "Begin with these three": {"doctor": doctor, "run": run, "check": check},
    "Ask about timestamps": {"scan": scan, "explain": explain},
}
"""The groups of `--help`, with their commands."""
COMMANDS: Final = {name: command for group in GROUPS.values() for name, command in group.items()}
EXAMPLES: Final = """\
examples:
  tsproxy run --upstream 127.0.0.1:9092 --listen 127.0.0.1:9192
  tsproxy run --config tsproxy.yaml --set policy.mode=off
  tsproxy check tsproxy.yaml
  tsproxy doctor --config tsproxy.yaml
  tsproxy scan --upstream 127.0.0.1:9092
"""
_UNWRITABLE: Final = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""The errors of an output that is closed, or on a disk that is full or broken."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code (`model.exits`)."""
    print_any_sign()
    words = sys.argv[1:] if arguments is None else arguments
    root = parser()
    if (text := unknown_command(words, COMMANDS, REMOVED)) is not None:
        root.error(text)
    options, unread = root.parse_known_args(words)
    if unread:
        if any(not setting.partition("=")[2] for setting in getattr(options, "set", ())):
            # An argument that is left may be the value, and a secret.
            options.parser.error("--set: must be KEY=VALUE in one word, such as policy.mode=off")
        options.parser.error(unknown_argument(unread[0], options.parser.format_usage(), meant))
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        code = command(options)
        print(end="", flush=True)  # now, since Python reports an error at its exit as one of ours
        return code
    except ConfigError as error:
        print(error, file=sys.stderr)
        return MISTAKEN
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        flush_output()
        if error.errno != errno.EPIPE:  # the reader of our output has closed the pipe
            print(f"tsproxy: cannot write: {error.strerror}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        "tsproxy",
        usage="tsproxy [-h] [--version] COMMAND ...",
        description="A Kafka proxy that keeps bad record timestamps out of the log.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"tsproxy {__version__}")
    commands = root.add_subparsers(prog="tsproxy", required=True, metavar="COMMAND", help=argparse.SUPPRESS)
    for title, group in GROUPS.items():
        root.add_argument_group(title, listed({name: command.HELP for name, command in group.items()}))
        for name, command in group.items():
            command.add(add_command(commands, name, command.HELP, command.EXAMPLES))
    return root
