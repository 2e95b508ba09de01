"""When a worker that does not answer hangs: after some questions in a row.

Questions are counted, not seconds: after a machine was suspended, or a supervisor was kept from running, one
question is late however long that took. A worker that begins reads names and certificates before it listens
to anybody, and may take longer.
"""

from typing import Final

MISSED_IN_LIFE: Final = 4
"""Each question takes `member.REPORT_S` to be missed, and the next one comes a second later: about 12 s."""
MISSED_AT_START: Final = 20
"""About a minute."""


class Silence:
    """Of one life of a worker: the questions that it has not answered since it was last heard."""

    __slots__ = ("_has_begun", "_missed")

    def __init__(self) -> None:
        self._has_begun = False
        self._missed = 0

    @property
    def is_too_long(self) -> bool:
        """It hangs."""
        return self._missed >= (MISSED_IN_LIFE if self._has_begun else MISSED_AT_START)

    def heard(self) -> None:
        """It has said something."""
        self._has_begun = True
        self._missed = 0

    def missed(self) -> None:
        """It has left a question without an answer for as long as one may take."""
        self._missed += 1
