"""Whether something synchronizes this machine's clock, by the kernel's `adjtimex` (Linux only)."""

import ctypes
import sys
from typing import Final

_TIME_ERROR: Final = 5
_STA_UNSYNC: Final = 0x40


class _Timex(ctypes.Structure):
    """The beginning of `struct timex` (linux/timex.h), and space for the rest."""

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
    """True if NTP, PTP or the host synchronizes the clock, False if nothing does, None if that is unknown.

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
    """True if the result of `adjtimex` and its `status` mean a synchronized clock."""
    return state != _TIME_ERROR and not status & _STA_UNSYNC
