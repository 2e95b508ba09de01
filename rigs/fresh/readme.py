"""The lines of README that a new user types."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")


def packages():
    """The packages to install on Debian and Ubuntu."""
    (line,) = re.findall(r"^apt-get install ([^#\n]*)", _PAGE, re.MULTILINE)
    return line.split()


def commands():
    """`make demo` and `make test`, in their order."""
    return re.findall(r"^(make [a-z-]+) +# ", _PAGE, re.MULTILINE)
