"""What the deployment files start, held against the commands that exist."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def installed(command: str) -> str:
    """The command installed beside this Python."""
    return str(Path(sys.executable).with_name(command))


def output_of(*command: str) -> str:
    """What it prints on either stream; an error where it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def assert_is_known(command: Sequence[str]) -> None:
    """`tsproxy SUBCOMMAND FLAGS...`: the subcommand exists, and has every flag that is used."""
    assert Path(command[0]).name == "tsproxy"
    known = output_of(installed("tsproxy"), command[1], "--help")
    for word in command[2:]:
        if word.startswith("-"):
            flag = word.partition("=")[0]
            assert f" {flag} " in known.replace("[", " ").replace("]", " "), (
                f"tsproxy {command[1]} has no {flag}"
            )
