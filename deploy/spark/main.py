"""The program for spark-submit: `spark-submit --py-files spark_reports-pyfiles.zip main.py daily …`."""

import sys

from spark_reports.cli import main

if __name__ == "__main__":
    sys.exit(main())
