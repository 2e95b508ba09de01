"""benchmarks.md: three commands write one page. Each leaves the parts of the others unchanged."""

import re
import textwrap
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent.parent / "docs" / "evidence" / "benchmarks.md"

_BETWEEN: Final = "<!-- Above: written by `make bench`. Below: by `make bench-reports`. -->\n"
_FLEET: Final = "<!-- Below: written by `make bench-fleet`. -->\n"
_LINE_LENGTH: Final = 110
_CODE: Final = re.compile("`[^`]+`")


def with_proxy(page: str, part: str) -> str:
    """The page with `part` as its part about the proxy."""
    reports = page.partition(_BETWEEN)[2]
    return f"{part}\n{_BETWEEN}{reports}" if reports else part


def with_reports(page: str, part: str) -> str:
    """The page with `part` as its part about the Spark reports."""
    proxy, fleet = page.partition(_BETWEEN)[0], page.partition(_FLEET)[2]
    return f"{proxy.rstrip()}\n\n{_BETWEEN}\n{part}" + (f"\n{_FLEET}{fleet}" if fleet else "")


def with_fleet(page: str, part: str) -> str:
    """The page with `part` as its part about a fleet."""
    return f"{page.partition(_FLEET)[0].rstrip()}\n\n{_FLEET}\n{part}"


def wrapped(text: str, begin: str = "") -> str:
    """A paragraph, or a list item that begins with `begin`, in short lines. Code is not broken."""
    lines = textwrap.wrap(
        _CODE.sub(lambda found: found[0].replace(" ", "\0"), text),
        _LINE_LENGTH,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\0", " ")
