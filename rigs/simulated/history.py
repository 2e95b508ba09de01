"""`History`: the events of one connection, and those mistakes that show at once.

The broker's end tells it each frame that came, the client's end each answer. `invariants.py` looks at the
whole when the connection is over.
"""

from dataclasses import dataclass, field

from rigs.simulated.requests import KNOWN, PLANTED, UNKNOWN, Asked, Kind
from rigs.simulated.violations import ViolationError
from tests.planted import traces
from tests.session.conversation import id_of
from tests.session.messages import (
    API_VERSIONS,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    accepted,
    produced,
)
from tsproxy.decisions.totals import Totals
from tsproxy.model.outcome import Outcome
from tsproxy.model.produce import ProduceRequest
from tsproxy.wire import k00_produce
from tsproxy.wire.headers import RequestHeader, read_request_header, response_body_start
from tsproxy.wire.primitives import DecodeError

NAMES = {id_of(topic): topic for topic in (*KNOWN, UNKNOWN)}

LEAK = b"leak.internal"
"""The hosts of brokers begin so. No client may get such a name."""


BEFORE_LOGIN = {SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE}


@dataclass
class History:
    """`stored`: what the broker decided about each batch, (error code, base offset). `written`: the requests
    whose answers it has sent whole. `told_…`: batches, by the answers that the client has got."""

    number: int
    client_id: str
    principal: str | None = None
    """Whom the broker knows the client as, once it `has_login`."""
    has_login: bool = False
    asked: list[Asked] = field(default_factory=list)
    at_broker: list[Asked] = field(default_factory=list)
    stored: dict[tuple[int, str, int], tuple[int, int]] = field(default_factory=dict)
    written: list[Asked] = field(default_factory=list)
    answered: list[Asked] = field(default_factory=list)
    told_accepted: int = 0
    told_rejected_here: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    totals: list[Totals] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Acts of a peer or of the world that excuse a connection from having all answers."""
    broker_lies: bool = False
    cut_short: bool = False
    """The proxy ended in the middle of an answer, and not by a reset."""
    gave_up: bool = False
    """The client had no more patience."""
    due_at_broker: Asked | None = None
    """The request that the proxy had read whole and was about to forward when its client was lost."""

    due_at_client: int | None = None
    """The correlation id of the answer that the proxy read when its broker was lost."""

    def book(self, booked: Outcome | Totals) -> None:
        if isinstance(booked, Totals):
            self.totals.append(booked)
        else:
            self.outcomes.append(booked)

    def lose(self, fault: str) -> None:
        self.faults.append(fault)

    def faults_of(self, whose: str) -> list[str]:
        """`whose`: client or broker."""
        return [fault for fault in self.faults if fault.startswith(f"{whose} ")]

    def client_is_lost(self, consumed: int) -> None:
        """The proxy knows that the client is gone. It has read so many of its bytes."""
        if self.principal and not self.has_login:
            return
        for one in self.asked:
            if one in self.at_broker or one in self.answered:
                continue
            is_certain = one.ends_at <= consumed and not (one.is_damaged or one.is_local)
            if is_certain and all(each.kind is Kind.GOOD for each in one.batches.values()):
                self.due_at_broker = one
            return  # it is judged, or rejected and delayed: nothing is read behind it

    @property
    def ends_at(self) -> int | None:
        """The place of the first request with acks=0 that may be rejected: the connection may end with it."""
        for place, one in enumerate(self.asked):
            if one.acks == 0 and any(each.kind is not Kind.GOOD for each in one.batches.values()):
                return place
        return None

    @property
    def expected(self) -> list[Asked]:
        """The requests that want an answer, in their order."""
        return [one for one in self.asked if one.wants_answer]

    # At the broker

    def forwarded(self, frame: bytes, enforced_since_s: float | None) -> Asked:
        """A frame has come to the broker. `enforced_since_s` is None while limits are not enforced."""
        one = self._find(read_request_header(memoryview(frame)[4:]).correlation_id, "forwarded_unknown")
        if self.at_broker and one.correlation_id <= self.at_broker[-1].correlation_id:
            raise ViolationError("forwarded_out_of_order", f"{one} after {self.at_broker[-1]}")
        self.at_broker.append(one)
        if self.principal and not self.has_login and one.api_key not in BEFORE_LOGIN:
            raise ViolationError("forwarded_before_login", str(one))
        if one.is_local:
            raise ViolationError("forwarded_unsupported", str(one))
        if one.is_damaged:
            return one
        was_enforced = enforced_since_s is not None and (one.sent_s or 0.0) >= enforced_since_s
        if frame != one.frame:
            self._check_batches(one, frame, was_enforced)
        elif was_enforced and any(each.kind is Kind.BAD for each in one.batches.values()):
            raise ViolationError("forbidden_forwarded", str(one))
        return one

    def _check_batches(self, one: Asked, frame: bytes, was_enforced: bool) -> None:
        if one.api_key != PRODUCE:
            raise ViolationError("forwarded_changed", str(one))
        left = batches_of(frame)
        for place, records in left.items():
            sent = one.batches.get(place)
            if sent is None or sent.data != records:
                raise ViolationError("forwarded_changed", f"{place} of {one}")
            if sent.kind is Kind.BAD and was_enforced:
                raise ViolationError("forbidden_forwarded", f"{place} of {one}")
        removed = [place for place in one.batches if place not in left]
        if any(one.batches[place].kind is Kind.GOOD for place in removed):
            raise ViolationError("good_not_forwarded", f"{removed} of {one}")
        if not removed:
            raise ViolationError("forwarded_changed", f"encoded again without need: {one}")

    # At the client

    def received(self, frame: bytes) -> None:
        """A whole answer has come to the client."""
        if LEAK in frame:
            raise ViolationError("address_leaked", f"in an answer of {len(frame)} bytes")
        if found := traces(frame, PLANTED):
            raise ViolationError("secret_told", f"{found[0]}, in an answer")
        correlation_id = int.from_bytes(frame[4:8], "big")
        place = len(self.answered)
        expected = self.expected
        if place >= len(expected) or correlation_id != expected[place].correlation_id:
            wanted = expected[place] if place < len(expected) else "nothing"
            raise ViolationError("answered_out_of_order", f"{correlation_id} where {wanted} is due")
        one = expected[place]
        self.answered.append(one)
        if one.is_damaged or self.broker_lies:
            return
        if one.api_key == PRODUCE:
            self._check_produced(one, frame)
        elif one.is_local:
            if frame[8:10] != b"\x00\x23":
                raise ViolationError("answered_falsely", str(one))
        elif one not in self.at_broker:
            raise ViolationError("answered_without_broker", str(one))

    def _check_produced(self, one: Asked, frame: bytes) -> None:
        told = {
            (topic.name if one.api_version < 13 else _name(one, topic.topic_id), each.index): each
            for topic in _response(one, frame).topics
            for each in topic.partitions
        }
        if told.keys() != one.batches.keys():
            raise ViolationError("answered_falsely", f"{sorted(told)} for {one}")
        for place, each in told.items():
            stored = self.stored.get((one.correlation_id, *place))
            if stored is not None:
                if (int(each.error_code), each.base_offset) != stored:
                    raise ViolationError("answered_falsely", f"{place} of {one}: {each}, stored {stored}")
                self.told_accepted += stored[0] == 0
            elif int(each.error_code) == 0:
                raise ViolationError("answered_falsely", f"{place} of {one} is not stored: {each}")
            elif one.batches[place].kind is Kind.GOOD and int(each.error_code) != 0:
                raise ViolationError("good_rejected", f"{place} of {one}: {each}")
            else:
                self.told_rejected_here += 1

    def _find(self, correlation_id: int, violation: str) -> Asked:
        first = self.asked[0].correlation_id if self.asked else 0
        place = correlation_id - first
        if not 0 <= place < len(self.asked):
            raise ViolationError(violation, f"correlation id {correlation_id}")
        return self.asked[place]


def batches_of(frame: bytes) -> dict[tuple[str, int], bytes]:
    """{(topic, partition): records} of a Produce request."""
    return {
        (topic.name, partition.index): bytes(partition.records or b"")
        for topic in _request(frame)[1].topics
        for partition in topic.partitions
    }


def stored(frame: bytes) -> bytes:
    """A broker's answer to a Produce request whose batches it stores: nothing for acks=0."""
    header, request = _request(frame)
    topics = {
        topic.name: {partition.index: accepted() for partition in topic.partitions}
        for topic in request.topics
    }
    return produced(topics, header.api_version, header.correlation_id) if request.acks else b""


def _request(frame: bytes) -> tuple[RequestHeader, ProduceRequest]:
    payload = memoryview(frame)[4:]
    header = read_request_header(payload)
    return header, k00_produce.read_request(header.api_version, payload[header.body_start :], names=NAMES)


def _response(one: Asked, frame: bytes):
    payload = memoryview(frame)[4:]
    try:
        return k00_produce.read_response(
            one.api_version, payload[response_body_start(PRODUCE, one.api_version, payload) :]
        )
    except DecodeError as error:
        raise ViolationError("answer_unreadable", f"{one}: {error}") from None


def _name(one: Asked, topic_id: bytes) -> str:
    return NAMES.get(bytes(topic_id), "?")
