"""What a session wants done: the only way anything leaves the core.

The shell performs effects in their order. A session yields nothing after `CloseSession`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tsproxy.model.dead_letter import DeadBatch
from tsproxy.model.outcome import Outcome
from tsproxy.session.produce.job import Job
from tsproxy.session.produce.judge_request import Judgement, RequestVerdict
from tsproxy.session.reading import AnswerRead, NodeUnknown, Unreadable


class CloseReason(StrEnum):
    """Why a session ended by its own will; the label of a metric, so a closed list."""

    NOT_KAFKA = "not_kafka"
    BAD_FRAME = "bad_frame"
    FRAME_TOO_LARGE = "frame_too_large"
    UNSUPPORTED_REQUEST = "unsupported_request"
    ACKS_ZERO_REJECTED = "acks_zero_rejected"
    ADDRESS_UNMAPPED = "address_unmapped"
    BAD_ANSWER = "bad_answer"
    TOO_MANY_IN_FLIGHT = "too_many_in_flight"
    SASL_FAILED = "sasl_failed"
    """The broker did not accept the client, as a line of the log has said."""
    PEER_CLOSED = "peer_closed"
    INTERNAL_ERROR = "internal_error"


@dataclass(frozen=True, slots=True)
class SendToBroker:
    data: bytes


@dataclass(frozen=True, slots=True)
class SendToClient:
    data: bytes


@dataclass(frozen=True, slots=True)
class PauseClient:
    """Stop reading from the client until `ResumeClient`."""


@dataclass(frozen=True, slots=True)
class ResumeClient:
    """Read from the client again."""


@dataclass(frozen=True, slots=True)
class MuteClient:
    """Read nothing more from the client for so long; what it is owed still goes to it."""

    throttle_ms: int


@dataclass(frozen=True, slots=True)
class Judge:
    """Run `job` where it holds up nobody else, and give what it returns to `Session.judged`.

    It is a pure function of what it holds, and dear: a large compressed batch. It may be run step by step.
    The session takes nothing more from the client until then (a `PauseClient` follows), and closes over it
    if it must: then whoever runs the job stops it.
    """

    job: Job[Judgement]


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """Run `job` where it holds up nobody else, and give what it returns to `Session.answer_read`.

    It is a pure function of what it holds, and dear: a large answer that must be read. The session takes
    nothing more from the broker until then: nothing more should be read from it.
    """

    job: Callable[[], AnswerRead | NodeUnknown | Unreadable]


@dataclass(frozen=True, slots=True)
class PutOff:
    """Give `ruling` to `Session.judged` when `silence_ms` are over.

    Its client was told to be silent for so long and is not, by another connection or by what it had
    pipelined. The session takes nothing more from it until then (a `PauseClient` follows).
    """

    ruling: RequestVerdict
    silence_ms: int


@dataclass(frozen=True, slots=True)
class CloseSession:
    """Flush what was sent, then close both connections. `text` is for the operators' log."""

    reason: CloseReason
    text: str


@dataclass(frozen=True, slots=True)
class Emit:
    """One batch has ended: book it in the decision log."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class EmitDead:
    """A batch was rejected whose rule wants copies of the records at fault."""

    batch: DeadBatch


@dataclass(frozen=True, slots=True)
class Note:
    """Something an operator may want to see: a `snake_case_past_tense` event and its facts."""

    event: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TopicWanted:
    """A producer writes to a topic whose limits the view does not hold."""

    topic: str


@dataclass(frozen=True, slots=True)
class HoldBroker:
    """An answer waits for a node to be served: stop reading from the broker until `ReleaseBroker`.

    It goes on with `Session.see`, and ends with `Session.node_given_up`: how long it may wait is the
    shell's to say.
    """


@dataclass(frozen=True, slots=True)
class ReleaseBroker:
    """No answer waits any more: read from the broker again."""


@dataclass(frozen=True, slots=True)
class NodeWanted:
    """An answer named a node that the view has no endpoint for, or that has moved (host and port are the
    broker's own)."""

    node_id: int
    host: str
    port: int


Effect = (
    SendToBroker
    | SendToClient
    | PauseClient
    | ResumeClient
    | MuteClient
    | Judge
    | PutOff
    | ReadAnswer
    | CloseSession
    | Emit
    | EmitDead
    | Note
    | TopicWanted
    | HoldBroker
    | ReleaseBroker
    | NodeWanted
)
