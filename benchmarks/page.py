"""docs/benchmarks.md: one page of two commands, each of which leaves the other's part as it is."""

from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent.parent / "docs" / "benchmarks.md"

_BETWEEN: Final = "<!-- Above: written by `make bench`. Below: by `make bench-reports`. -->\n"


def with_proxy(page: str, part: str) -> str:
    """The page with `part` for what it says of the proxy."""
    reports = page.partition(_BETWEEN)[2]
    return f"{part}\n{_BETWEEN}{reports}" if reports else part


def with_reports(page: str, part: str) -> str:
    """The page with `part` for what it says of the Spark reports."""
    return f"{page.partition(_BETWEEN)[0].rstrip()}\n\n{_BETWEEN}\n{part}"
