"""The stages of a connection, and the causes that lead from one to another: the table `TRANSITIONS`.

ARCHITECTURE.md has a drawing of this table, beside that of the session's states.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Stage(Enum):
    """The stage of a connection. Each stage has its meaning and two flags:

    * `takes_requests`: the client's bytes go to the session;
    * `takes_answers`: the broker's bytes go to the session.
    """

    CONNECTING = "the broker is not connected yet: early bytes are kept, reading is held", False, False
    RELAYING = "bytes go through the session", True, True
    FINISHING = "the client sends no more, or the proxy drains: answers are still forwarded", False, True
    CLOSING = "both ends are flushed and closed: bytes that still come are dropped", False, False

    def __init__(self, meaning: str, takes_requests: bool, takes_answers: bool) -> None:
        self.meaning = meaning
        self.takes_requests = takes_requests
        self.takes_answers = takes_answers


class Cause(Enum):
    BROKER_CONNECTED = "bytes can go through"
    NO_MORE_REQUESTS = "the client is owed answers, and nothing more is taken from it"
    OVER = "an end is lost, the session has closed, a limit is exceeded, or no broker could be connected"


TRANSITIONS: Final[Mapping[Stage, Mapping[Cause, Stage]]] = {
    Stage.CONNECTING: {Cause.BROKER_CONNECTED: Stage.RELAYING, Cause.OVER: Stage.CLOSING},
    Stage.RELAYING: {Cause.NO_MORE_REQUESTS: Stage.FINISHING, Cause.OVER: Stage.CLOSING},
    Stage.FINISHING: {Cause.NO_MORE_REQUESTS: Stage.FINISHING, Cause.OVER: Stage.CLOSING},
    Stage.CLOSING: {Cause.OVER: Stage.CLOSING},
}
