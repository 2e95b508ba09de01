"""`python -m tsproxy` is the command `tsproxy`."""

import sys

from tsproxy.cli import main

if __name__ == "__main__":
    sys.exit(main())
