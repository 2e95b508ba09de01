"""docs/guide/runbook.md: its sections, and the commands in them, which are run as they stand there.

A command stands in backticks or in a block ```` ```sh ````. Its variables are those that the page explains.
"""

import asyncio
import os
import re
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.documents.page import steps
from tsproxy.testing.tools import write_tools

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "runbook.md"
PROGRAMS = ("curl", "openssl", "getent", "tsproxy", "kafka-acls.sh", "kafka-configs.sh", "kafka-topics.sh")
"""The programs that are run; others, such as systemctl, belong to one installation."""
LOOKS = ("curl", "openssl", "getent", "tsproxy")
"""The programs that change nothing."""
RUNS_ITS_COMMANDS = pytest.mark.skipif(
    not all(map(shutil.which, {*LOOKS} - {"tsproxy"})),
    reason="runs the runbook's commands, which need curl and openssl: apt-get install curl openssl",
)
PATIENCE_S = 120
_VARIABLE = re.compile(r"\$\{?(\w+)")


@cache
def sections():
    """Heading -> text."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands(section):
    """The commands of a section, in their order."""
    text = sections()[section]
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    found = [step.text for step in steps(text)] + inline
    return [each for each in found if each.split()[0] in PROGRAMS and " " in each]


def variables_of(command):
    return set(_VARIABLE.findall(command))


@cache
def _tools():
    """A folder with Kafka's own tools, as the page names them."""
    folder = TemporaryDirectory(prefix="tsproxy-tools-")
    write_tools(Path(folder.name))
    return folder


async def run(command, variables):
    """Runs a command as a reader would who has set the variables. Returns status and output."""
    tools, own = await asyncio.to_thread(_tools), Path(sys.executable).parent
    path = os.pathsep.join([tools.name, str(own), os.environ["PATH"]])
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", command),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        env={**os.environ, **variables, "PATH": path},
    )
    async with asyncio.timeout(PATIENCE_S):
        printed, _ = await process.communicate()
    return process.returncode, printed.decode()


async def looked(section, variables):
    """The output of each look of a section, if all its variables are known."""
    chosen = [each for each in commands(section) if each.split()[0] in LOOKS]
    return {each: (await run(each, variables))[1] for each in chosen if variables_of(each) <= set(variables)}


async def follow_back(section, word, variables):
    """Runs the command of a section that has this word. Raises AssertionError if it fails."""
    [command] = [each for each in commands(section) if word in each]
    assert variables_of(command) <= set(variables), command
    status, printed = await run(command, variables)
    assert status == 0, (command, printed)
