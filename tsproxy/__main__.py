"""The command `tsproxy`, or `python -m tsproxy`. It heeds SIGTERM before it imports the rest."""

import sys
from collections.abc import Sequence

from tsproxy.model.exits import end_at_sigterm


def main(arguments: Sequence[str] | None = None) -> int:
    end_at_sigterm()
    from tsproxy.cli import main as command

    return command(arguments)


if __name__ == "__main__":
    sys.exit(main())
