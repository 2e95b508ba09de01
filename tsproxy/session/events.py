"""The events of a session: everything that can happen to it. `Session.feed` takes them."""

from dataclasses import dataclass

from tsproxy.model.outcome import Peer
from tsproxy.model.view import Unchanged, View
from tsproxy.session.reading import AnswerRead, NodeWanted, Unreadable
from tsproxy.session.verdict import Judged


@dataclass(frozen=True, slots=True)
class ClientBytes:
    """The client sent `data`."""

    data: bytes


@dataclass(frozen=True, slots=True)
class BrokerBytes:
    """The broker sent `data`."""

    data: bytes


@dataclass(frozen=True, slots=True)
class ClientIdentified:
    """The handshake has found who the client is. It comes before `BrokerConnected`, perhaps after the
    client's first bytes, or even its end."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class BrokerConnected:
    """The broker is connected. Requests that came before go to it now."""


@dataclass(frozen=True, slots=True)
class ClientEnded:
    """The client sends no more, but it may still read."""


@dataclass(frozen=True, slots=True)
class ClientLost:
    """The client's connection is gone, by a close or an error."""


@dataclass(frozen=True, slots=True)
class BrokerEnded:
    """The broker sends no more."""


@dataclass(frozen=True, slots=True)
class BrokerLost:
    """The broker's connection is gone, by a close or an error."""


@dataclass(frozen=True, slots=True)
class Drained:
    """The proxy drains: take nothing more from the client, and close when it has its answers."""


@dataclass(frozen=True, slots=True)
class Aborted:
    """The connection ends now, whatever is missing."""


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """Limits, brokers or rules have changed: an answer that waits for a node may go on. `unchanged` compares
    the view with the one before it; None if nobody has made it."""

    view: View
    unchanged: Unchanged | None = None


@dataclass(frozen=True, slots=True)
class LimitsRead:
    """A question about limits is answered: a request that waits for fresh ones may go on."""


@dataclass(frozen=True, slots=True)
class RequestJudged:
    """The job of a `Judge` effect is done: the session continues with the request, then with the requests
    behind it."""

    judged: Judged


@dataclass(frozen=True, slots=True)
class AnswerDecoded:
    """The job of a `ReadAnswer` effect is done: the session continues with the answer, then with those behind
    it."""

    read: AnswerRead | NodeWanted | Unreadable


@dataclass(frozen=True, slots=True)
class Throttled:
    """The fast path rejected a request, and therefore the client is muted for `throttle_ms`."""

    throttle_ms: int


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The time of `Session.next_deadline_ms` has come."""


Event = (
    ClientBytes
    | BrokerBytes
    | ClientIdentified
    | BrokerConnected
    | ClientEnded
    | ClientLost
    | BrokerEnded
    | BrokerLost
    | Drained
    | Aborted
    | ViewChanged
    | LimitsRead
    | RequestJudged
    | AnswerDecoded
    | Throttled
    | DeadlinePassed
)
