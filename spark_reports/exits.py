"""Exit codes, the same for every command."""

from typing import Final

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
GATE_TRIPPED: Final = 3
