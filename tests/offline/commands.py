"""The command as a user types it, in this process, beside the test's own loop."""

import asyncio
import json
from dataclasses import dataclass

from tsproxy.cli import main


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


async def tsproxy(capsys, *arguments):
    """Exit status, stdout and stderr of `tsproxy arguments…`."""
    capsys.readouterr()

    def run():
        try:
            return main([str(each) for each in arguments])
        except SystemExit as end:  # argparse
            return end.code

    status = await asyncio.to_thread(run)
    printed = capsys.readouterr()
    return Result(status, printed.out, printed.err)
