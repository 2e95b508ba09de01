"""`python -m spark_reports` is the same as the command."""

import sys

from spark_reports.cli import main

if __name__ == "__main__":
    sys.exit(main())
