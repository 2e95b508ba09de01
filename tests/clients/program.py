"""A client's program while it runs: told line by line what to do (`programs/protocol.py`)."""

import asyncio
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager, suppress

from tsproxy.testing.guard import guarded_folder

PATIENCE_S = 240
"""Longer than any program's own, so that it is the program that tells what it waited for."""

_TAIL_BYTES = 2000


class ProgramError(Exception):
    """A command failed, or the program ended; the text says what the client itself said."""


class Program:
    def __init__(self, process, log):
        self._process = process
        self._log = log
        self._turn = asyncio.Lock()

    @property
    def pid(self):
        return self._process.pid

    async def do(self, command, *words):
        """Give a command; the words that come back. One at a time. Raises ProgramError."""
        async with self._turn:
            self._say(command, *words)
            try:
                async with asyncio.timeout(PATIENCE_S):
                    line = await self._process.stdout.readline()
            except TimeoutError:
                raise ProgramError(f"{command}: no answer within {PATIENCE_S} s{self._tail()}") from None
        match line.decode().rstrip("\n").split("\t"):
            case ["done", *told]:
                return told
            case ["failed", *text]:
                raise ProgramError(f"{command} {' '.join(map(str, words))}: {' '.join(text)}")
        raise ProgramError(f"{command}: the program said {line!r}{self._tail()}")

    def option(self, name, value):
        self._say("option", name, value)

    def _say(self, *words):
        with suppress(ConnectionError):  # it has ended: what it does not answer tells
            self._process.stdin.write("\t".join(map(str, words)).encode() + b"\n")

    def _tail(self):
        self._log.seek(0)
        return "; its log ends:\n" + self._log.read()[-_TAIL_BYTES:].decode(errors="replace")


@asynccontextmanager
async def running(family, version, options):
    """The family's program, told how to connect and connected; killed when the block ends."""
    command = await asyncio.to_thread(family.command, version)
    async with guarded_folder("tsproxy-client-") as (folder, group):
        with (folder / "log").open("w+b") as log:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=log, process_group=group, limit=1 << 20
            )
            try:
                program = Program(process, log)
                program.option("client.id", family.name)
                for name, value in family.words(options, version).items():
                    program.option(name, value)
                yield program
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.communicate()
