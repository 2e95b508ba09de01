"""The pictures of a report in the documents: `python -m tests.spark_reports.screenshots docs/guide`.

The day's page at a desk by day and by night, on a phone, and as printed (a PDF), and the page of a team.
"""

import sys
import tempfile
from pathlib import Path

from spark_reports.render import html
from tests.spark_reports import browser, reports
from tests.spark_reports.pure.test_teams import folder

_DARK = "--blink-settings=preferredColorScheme=0"
_SHOTS = {
    "report-1280.png": ("--window-size=1280,760",),
    "report-dark.png": ("--window-size=1280,760", _DARK),
    "report-400.png": ("--window-size=400,900",),
}


def main(place):
    report = reports.complete()
    page = html.render(report)
    team = folder(report, "Payments")["2026-11-20.html"].replace("<details", "<details open")
    shots = [(name, page, options) for name, options in _SHOTS.items()]
    for name, text, options in [*shots, ("report-team.png", team, ("--window-size=1280,860",))]:
        with tempfile.TemporaryDirectory() as profile:
            browser.run(Path(profile), text, *options, f"--screenshot={Path(place, name).resolve()}")
    with tempfile.TemporaryDirectory() as profile:
        path = Path(place, "report-print.pdf").resolve()
        browser.run(Path(profile), page, "--no-pdf-header-footer", f"--print-to-pdf={path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
