"""The pictures of a report: `python -m tests.spark_reports.screenshots REPORT.json docs/guide`.

1280 pixels wide by day and by night, 400 pixels wide, and as printed (a PDF).
"""

import sys
import tempfile
from pathlib import Path

from spark_reports.render import html
from spark_reports.report.files import read_report
from tests.spark_reports import browser

_DARK = "--blink-settings=preferredColorScheme=0"
_SHOTS = {
    "report-1280.png": ("--window-size=1280,1000",),
    "report-dark.png": ("--window-size=1280,1000", _DARK),
    "report-400.png": ("--window-size=400,1000",),
}


def main(report, folder):
    page = html.render(read_report(Path(report)))
    for name, options in _SHOTS.items():
        with tempfile.TemporaryDirectory() as place:
            browser.run(Path(place), page, *options, f"--screenshot={Path(folder, name).resolve()}")
    with tempfile.TemporaryDirectory() as place:
        path = Path(folder, "report-print.pdf").resolve()
        browser.run(Path(place), page, "--no-pdf-header-footer", f"--print-to-pdf={path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
