"""`python -m tests.proxy.pass_sockets DESCRIPTOR... -- COMMAND...`: runs the command as systemd does for a
service with a .socket unit: the descriptors begin at 3, and the environment says so."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from functools import partial

from tsproxy.testing import proxy

FIRST = 3


def passing(monkeypatch, sockets):
    """Each `RunningProxy` from now on gets these sockets."""
    monkeypatch.setattr(proxy, "start_program", partial(_start, [each.fileno() for each in sockets]))


async def _start(descriptors, command, environment):
    wrapped = [sys.executable, "-m", "tests.proxy.pass_sockets", *map(str, descriptors), "--", *command]
    return await asyncio.create_subprocess_exec(
        *wrapped,
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        limit=proxy.LINE_BYTES,
        env=environment,
        pass_fds=descriptors,
    )


def main(words):
    end = words.index("--")
    descriptors, command = [int(word) for word in words[:end]], words[end + 1 :]
    high = [os.dup2(each, max(descriptors) + FIRST + n + len(words)) for n, each in enumerate(descriptors)]
    for number, each in enumerate(high, FIRST):
        os.dup2(each, number)
        os.close(each)
    os.environ |= {"LISTEN_FDS": str(len(descriptors)), "LISTEN_PID": str(os.getpid())}
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
