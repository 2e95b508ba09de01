"""Two events that hardly ever meet by themselves: `Coincidence`, for a client without a fault of its own."""

from enum import Enum


class Coincidence(Enum):
    CLIENT_GOES_WHILE_CONNECTING = "resets while its broker is connected"
    CLIENT_ENDS_UNANSWERED = "ends where its broker answers nothing"
    CLIENT_GOES_WHILE_JUDGED = "is lost while a thread judges its request"
    BROKER_GOES_WHILE_READ = "loses its broker while a thread reads an answer"


def possible(*, judges_apart: bool, reads_apart: bool) -> tuple[Coincidence, ...]:
    """The coincidences of a world: where threads work, the ones that meet a thread at work."""
    if judges_apart and reads_apart:
        return Coincidence.CLIENT_GOES_WHILE_JUDGED, Coincidence.BROKER_GOES_WHILE_READ
    if judges_apart:
        return (Coincidence.CLIENT_GOES_WHILE_JUDGED,)
    if reads_apart:
        return (Coincidence.BROKER_GOES_WHILE_READ,)
    return Coincidence.CLIENT_GOES_WHILE_CONNECTING, Coincidence.CLIENT_ENDS_UNANSWERED


SHARE = 0.3
"""The share of all clients."""
