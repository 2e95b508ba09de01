"""Two events that hardly ever meet by themselves: `Coincidence`, for a client without a fault of its own."""

from enum import Enum


class Coincidence(Enum):
    CLIENT_GOES_WHILE_CONNECTING = "resets while its broker is connected"
    CLIENT_ENDS_UNANSWERED = "ends where its broker answers nothing"


SHARE = 0.3
"""The share of all clients."""
