"""The pictures of a report: `python -m tests.spark_reports.screenshots REPORT.json docs/guide`.

1280 pixels wide by day and by night, 400 pixels wide, the lists further down by themselves, and as printed
(a PDF).
"""

import sys
import tempfile
from pathlib import Path

from spark_reports.render import html
from spark_reports.report.files import read_report
from tests.spark_reports import browser

_DARK = "--blink-settings=preferredColorScheme=0"
_SHOTS = {
    "report-1280.png": ("--window-size=1280,1640",),
    "report-dark.png": ("--window-size=1280,1640", _DARK),
    "report-400.png": ("--window-size=400,1900",),
    "report-lists.png": ("--window-size=1280,1240",),
}
_LISTS = ("reasons", "topics", "rules", "log")
_ONLY = {
    "report-lists.png": "<style>header, main > *, footer { display: none !important }"
    + ", ".join(f"main > [aria-labelledby={name}]" for name in _LISTS)
    + " { display: block !important }</style></head>"
}
"""The text at the end of a page's head, for a picture of a part of it."""


def main(report, folder):
    page = html.render(read_report(Path(report)))
    for name, options in _SHOTS.items():
        shown = page.replace("</head>", _ONLY.get(name, "</head>"), 1)
        if name in _ONLY:
            shown = shown.replace('<details class="part"', '<details open class="part"')
        with tempfile.TemporaryDirectory() as place:
            browser.run(Path(place), shown, *options, f"--screenshot={Path(folder, name).resolve()}")
    with tempfile.TemporaryDirectory() as place:
        path = Path(folder, "report-print.pdf").resolve()
        browser.run(Path(place), page, "--no-pdf-header-footer", f"--print-to-pdf={path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
