"""Runs the steps of a page, one after the other."""

import difflib
import subprocess
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from tests.documents.page import INTERRUPT, Command, File, Step
from tests.documents.seen import is_shown, lines_of, normal
from tests.documents.terminals import Shell, Terminal

PATIENCE_S = 600


class StepError(Exception):
    """A step did not do what the page says."""


def follow(steps: Iterable[Step], folder: Path, patience_s: float = PATIENCE_S) -> int:
    """Runs all steps in `folder`, which is empty, and returns their number. Raises StepError at the first
    that fails. Terminals are closed at the end, the last one first."""
    done = 0
    with ExitStack() as stack:
        shell = stack.enter_context(Shell(folder))
        reader = _Reader(folder, shell, stack, patience_s)
        for step in steps:
            reader.do(step)
            done += 1
    return done


class _Reader:
    """Somebody with a folder and terminals."""

    def __init__(self, folder: Path, shell: Shell, stack: ExitStack, patience_s: float) -> None:
        self._folder = folder
        self._shell = shell
        self._stack = stack
        self._patience_s = patience_s
        self._terminals: dict[str, Terminal] = {}

    def do(self, step: Step) -> None:
        match step:
            case File():
                path = self._folder / step.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step.text, encoding="utf-8")
            case Command(terminal=None):
                self._run(step)
            case Command(text=text) if text == INTERRUPT:
                self._interrupt(step)
            case Command():
                self._start(step)

    def _run(self, step: Command) -> None:
        status, lines = self._shell.run(step.text, self._patience_s)
        if status is None:
            raise _failed(step, "did not end", lines)
        if status != 0:
            raise _failed(step, f"ended with status {status}", lines)
        if step.seen is not None and not is_shown(lines, step.seen):
            raise _failed(step, "printed something else", lines)

    def _start(self, step: Command) -> None:
        assert step.terminal is not None
        before = self._terminals.get(step.terminal)
        if before is not None and before.is_running:
            raise StepError(f"line {step.line}: the terminal {step.terminal} is busy")
        terminal = self._stack.enter_context(Terminal(["bash", "-c", step.text], self._folder))
        self._terminals[step.terminal] = terminal
        self._wait_until_shown(step, terminal, 0)

    def _interrupt(self, step: Command) -> None:
        terminal = self._terminals.get(step.terminal or "")
        if terminal is None or not terminal.is_running:
            raise StepError(f"line {step.line}: nothing runs in the terminal {step.terminal}")
        since = terminal.mark()
        terminal.interrupt()
        try:
            status = terminal.wait(self._patience_s)
        except subprocess.TimeoutExpired:
            raise _failed(step, "did not end the command", lines_of(terminal.output())) from None
        lines = lines_of(terminal.output(since))
        if status != 0:
            raise _failed(step, f"ended the command with status {status}", lines)
        if step.seen and not is_shown(lines, step.seen):
            raise _failed(step, "was followed by something else", lines)

    def _wait_until_shown(self, step: Command, terminal: Terminal, since: int) -> None:
        deadline = time.monotonic() + self._patience_s
        while True:
            # At its end, all that it printed is waited for first.
            status = None if terminal.is_running else terminal.wait(self._patience_s)
            known = terminal.mark()
            lines = lines_of(terminal.output(since))
            if not status and is_shown(lines, step.seen or (), goes_on=True):
                return
            if status is not None:
                raise _failed(step, f"ended with status {status}", lines)
            if time.monotonic() > deadline:
                raise _failed(step, "did not print what the page shows", lines)
            terminal.wait_for_more(known, 1)


def _failed(step: Command, what: str, lines: list[str]) -> StepError:
    """The error, with the lines of the page (-) beside those that were seen (+)."""
    page = [normal(line) for line in step.seen or ()]
    difference = difflib.unified_diff(
        page, [normal(line) for line in lines], "page", "seen", lineterm="", n=99
    )
    text = "\n".join([*difference] if step.seen else lines)
    return StepError(f"line {step.line}: {step.text}\n{what}:\n{text}")
