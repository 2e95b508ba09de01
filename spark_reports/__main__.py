"""`python -m spark_reports`, the same as the command; also what spark-submit is given."""

import sys

from spark_reports.cli import main

if __name__ == "__main__":
    sys.exit(main())
