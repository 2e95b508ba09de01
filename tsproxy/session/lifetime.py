"""The two ends of a connection: `Lifetime`, with a table for each end (`CLIENT`, `BROKER`).

An end that is over does not end the connection at once. A broker reads every request that came before the
client's end, and a client reads every answer that came before the broker's. So a connection is over when an
end is over and nothing is left to do for it: `Lifetime.ended_by`. ARCHITECTURE.md has drawings of the tables.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

HALF_CLOSED_MS: Final = 30_000
"""How long a client that sends no more may wait for its missing answers."""


class ClientEnd(Enum):
    OPEN = "its requests are taken"
    DRAINING = "the proxy takes nothing more from it: it still gets its answers"
    ENDED = "it sends no more, and still gets its answers, for a limited time"
    LOST = "it is gone: a request that came before is still judged, and forwarded"


class ClientCause(Enum):
    DRAINED = "the proxy drains"
    ENDED = "the client sends no more"
    LOST = "the connection to the client is gone"


CLIENT: Final[Mapping[ClientEnd, Mapping[ClientCause, ClientEnd]]] = {
    ClientEnd.OPEN: {
        ClientCause.DRAINED: ClientEnd.DRAINING,
        ClientCause.ENDED: ClientEnd.ENDED,
        ClientCause.LOST: ClientEnd.LOST,
    },
    ClientEnd.DRAINING: {ClientCause.ENDED: ClientEnd.ENDED, ClientCause.LOST: ClientEnd.LOST},
    ClientEnd.ENDED: {ClientCause.LOST: ClientEnd.LOST},
    ClientEnd.LOST: {},
}
"""A cause without an entry changes nothing. For example, a socket may report its end twice."""


class BrokerEnd(Enum):
    CONNECTING = "it is not connected yet: requests that come early are kept"
    OPEN = "requests go to it, and answers come from it"
    ENDED = "it sends no more, or is gone: an answer that came before is still read"


class BrokerCause(Enum):
    CONNECTED = "the broker is connected"
    ENDED = "the broker sends no more, or its connection is gone"


BROKER: Final[Mapping[BrokerEnd, Mapping[BrokerCause, BrokerEnd]]] = {
    BrokerEnd.CONNECTING: {BrokerCause.CONNECTED: BrokerEnd.OPEN, BrokerCause.ENDED: BrokerEnd.ENDED},
    BrokerEnd.OPEN: {BrokerCause.ENDED: BrokerEnd.ENDED},
    BrokerEnd.ENDED: {},
}
"""A cause without an entry changes nothing, as in `CLIENT`."""


class Stage(Enum):
    """The stage of a connection, as metrics show it. The states of both ends decide it, up to CLOSING."""

    CONNECTING = auto()
    RELAYING = auto()
    FINISHING = auto()
    CLOSING = auto()


class End(Enum):
    CLIENT = auto()
    BROKER = auto()


class Lifetime:
    """The states of both ends of one connection."""

    __slots__ = ("_forwarded_before", "broker", "client")

    def __init__(self, *, is_connected: bool) -> None:
        self.client = ClientEnd.OPEN
        self.broker = BrokerEnd.OPEN if is_connected else BrokerEnd.CONNECTING
        self._forwarded_before = 0

    @property
    def is_whole(self) -> bool:
        """True if neither end is over: nothing has to be checked."""
        return self.client is ClientEnd.OPEN and self.broker is not BrokerEnd.ENDED

    @property
    def stage(self) -> Stage:
        if self.broker is BrokerEnd.CONNECTING:
            return Stage.CONNECTING
        return Stage.RELAYING if self.client is ClientEnd.OPEN else Stage.FINISHING

    def client_is(self, cause: ClientCause, forwarded: int) -> None:
        """Change the state of the client's end. `forwarded` as in `ended_by`."""
        self.client = CLIENT[self.client].get(cause, self.client)
        self._forwarded_before = forwarded

    def broker_is(self, cause: BrokerCause, forwarded: int) -> None:
        """Change the state of the broker's end. Requests that came early are taken before the call."""
        self.broker = BROKER[self.broker].get(cause, self.broker)
        self._forwarded_before = forwarded

    def ended_by(
        self, *, has_bytes: bool, holds_request: bool, is_owed: bool, reads_answer: bool, forwarded: int
    ) -> End | None:
        """The end because of which the connection is over now; None if it goes on.

        `has_bytes`: bytes of the client are not taken yet. `holds_request`: a request is neither forwarded
        nor answered. `is_owed`: an answer is missing. `reads_answer`: a thread reads an answer. `forwarded`
        counts the requests that expect an answer, and that were forwarded or answered here.
        """
        is_connecting = self.broker is BrokerEnd.CONNECTING
        if self.client is ClientEnd.LOST:
            # A broker that cannot deliver an answer reads nothing behind that request either.
            may_go_on = has_bytes if is_connecting else holds_request and forwarded == self._forwarded_before
            if not may_go_on:
                return End.CLIENT
        if self.broker is BrokerEnd.ENDED and not reads_answer:
            return End.BROKER
        if self.client is ClientEnd.DRAINING and not is_owed:
            return End.CLIENT
        if self.client is ClientEnd.ENDED and not is_owed and not is_connecting:
            return End.CLIENT
        return None
