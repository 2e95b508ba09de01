"""The commands in the deployment files, held against the commands that exist."""

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.in_process import run_command

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def installed(command: str) -> str:
    """The command installed beside this Python."""
    return str(Path(sys.executable).with_name(command))


@cache
def help_of(command: str, subcommand: str) -> str:
    """The output of `command subcommand --help`, in wide lines."""
    done = run_command(command, subcommand, "--help", environment={"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_is_known(command: Sequence[str]) -> None:
    """`tsproxy SUBCOMMAND FLAGS...`: the subcommand exists, and has every flag that is used."""
    assert Path(command[0]).name == "tsproxy"
    known = help_of("tsproxy", command[1])
    for word in command[2:]:
        if word.startswith("-"):
            flag = word.partition("=")[0]
            assert f" {flag} " in known.replace("[", " ").replace("]", " "), (
                f"tsproxy {command[1]} has no {flag}"
            )
