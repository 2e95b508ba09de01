"""The pictures of a report in the documents: `python -m tests.spark_reports.screenshots docs/guide`.

The day's page at a desk by day and by night, on a phone, and as printed (a PDF), and the page of a team.
"""

import sys
import tempfile
from pathlib import Path

from spark_reports.render import html
from tests.spark_reports import browser, reports
from tests.spark_reports.pure.test_teams import folder


def main(place):
    report = reports.complete()
    page = html.render(report)
    team = folder(report, "Payments")["2026-11-20.html"].replace("<details", "<details open")
    shots = (
        ("report-1280.png", page, (1280, 760), "light"),
        ("report-dark.png", page, (1280, 760), "dark"),
        ("report-400.png", page, (400, 900), "light"),
        ("report-team.png", team, (1280, 860), "light"),
    )
    with tempfile.TemporaryDirectory() as profile, browser.started(Path(profile)) as tab:
        for name, text, size, scheme in shots:
            tab.show(text, size, scheme=scheme)
            Path(place, name).write_bytes(tab.picture())
        tab.show(page, media="")
        Path(place, "report-print.pdf").write_bytes(tab.printed())


if __name__ == "__main__":
    main(*sys.argv[1:])
