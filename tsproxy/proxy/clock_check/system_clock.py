"""What the kernel says of its own clock: whether anybody keeps it right (`adjtimex`, Linux alone)."""

import ctypes
import sys
from typing import Final

_TIME_ERROR: Final = 5
_STA_UNSYNC: Final = 0x40


class _Timex(ctypes.Structure):
    """The beginning of `struct timex` (linux/timex.h), and room for the rest."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 512),
    )


def is_synchronised() -> bool | None:
    """True where NTP, PTP or the host keeps the clock, False where nobody does, None where nothing tells.

    It only reads (`modes` 0), which needs no privilege.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        adjtimex = ctypes.CDLL(None).adjtimex
        timex = _Timex(modes=0)
        state = adjtimex(ctypes.byref(timex))
    except (AttributeError, OSError):
        return None
    return None if state < 0 else meaning(state, timex.status)


def meaning(state: int, status: int) -> bool:
    """What `adjtimex` returned, and its `status`, say together."""
    return state != _TIME_ERROR and not status & _STA_UNSYNC
