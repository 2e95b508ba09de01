"""How much one read may decompress on the event loop: `Purse`.

A few bytes may decompress to a thousand times as many, or to nothing a thousand times over, and neither their
size nor their headers tell it before it is done. So it is simply begun; what turns out to be
dear is given up (`DearError`), and judged anew beside the loop. What goes into a decompressor is charged as
well as what comes out.
"""

from typing import Final

MOST_BYTES: Final = 4 << 20
"""Input and output of one read: some milliseconds with gzip, the slowest."""


class DearError(Exception):
    """The purse is empty. Nothing has happened."""


class Purse:
    """The budget of one read, with all requests that it brings."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_BYTES

    def spend(self, size: int) -> None:
        """Raises DearError where that is more than is left."""
        self.left -= size
        if self.left < 0:
            raise DearError
