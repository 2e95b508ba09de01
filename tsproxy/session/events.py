"""The events of a session: everything that can happen to it. `Session.feed` takes them."""

from dataclasses import dataclass

from tsproxy.model.view import View
from tsproxy.session.produce.judge_request import Judgement
from tsproxy.session.reading import AnswerRead, NodeUnknown, Unreadable


@dataclass(frozen=True, slots=True)
class ClientBytes:
    """The client sent `data`."""

    data: bytes


@dataclass(frozen=True, slots=True)
class BrokerBytes:
    """The broker sent `data`."""

    data: bytes


@dataclass(frozen=True, slots=True)
class ClientClosed:
    """The client's side ended, by a close or an error."""


@dataclass(frozen=True, slots=True)
class BrokerClosed:
    """The broker's side ended, or could not be reached."""


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """Limits, brokers or rules have changed: an answer that waits for a node may go on."""

    view: View


@dataclass(frozen=True, slots=True)
class RequestJudged:
    """The job of a `Judge` effect is done: the session continues with the request, then with the requests
    behind it."""

    judgement: Judgement


@dataclass(frozen=True, slots=True)
class AnswerDecoded:
    """The job of a `ReadAnswer` effect is done: the session continues with the answer, then with those behind
    it."""

    read: AnswerRead | NodeUnknown | Unreadable


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
    | ClientClosed
    | BrokerClosed
    | ViewChanged
    | RequestJudged
    | AnswerDecoded
    | Throttled
    | DeadlinePassed
)
