"""The effects of a session: all that it asks the shell to do. Nothing else leaves the session.

The shell performs effects in their order. A session returns no effect after `CloseSession`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tsproxy.model.outcome import OldRequest, RejectedBatch
from tsproxy.model.produce import TopicKey
from tsproxy.session.job import Job
from tsproxy.session.lifetime import Stage
from tsproxy.session.reading import AnswerRead, Unreadable
from tsproxy.session.reading import NodeWanted as NodeWanted
from tsproxy.session.verdict import Emit as Emit
from tsproxy.session.verdict import Judged


class ReasonToClose(StrEnum):
    """Why a client's connection ended. It is the label of a metric, so each list is closed.

    transparency.md says of each what happened, and which requests have no answer then. No reason ends the
    connection of another client.
    """


class CloseReason(ReasonToClose):
    """Why a session ended."""

    NOT_KAFKA = "not_kafka"
    BAD_FRAME = "bad_frame"
    FRAME_TOO_LARGE = "frame_too_large"
    UNSUPPORTED_REQUEST = "unsupported_request"
    ACKS_ZERO_REJECTED = "acks_zero_rejected"
    BAD_ANSWER = "bad_answer"
    SASL_FAILED = "sasl_failed"
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
    """Stop reading from the client until `UnmuteClient`, which comes about `throttle_ms` from now (KIP-219).
    Answers are still sent to the client."""

    throttle_ms: int


@dataclass(frozen=True, slots=True)
class UnmuteClient:
    """The mute is over: read from the client again, unless there is another reason not to."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Run `job` in a thread, and feed its result as `RequestJudged`.

    `job` is a pure function of its own fields. It is expensive, for example because of a large compressed
    batch. It may be run step by step. Until its result comes, the session takes nothing more from the client
    (a `PauseClient` follows). If the session closes meanwhile, the shell stops the job.
    """

    job: Job[Judged]


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """Run `job` in a thread, and feed its result as `AnswerDecoded`.

    `job` is a pure function of its own fields. It is expensive: it reads a large answer. Until its result
    comes, the session takes nothing more from the broker, so the shell should not read from the broker.
    """

    job: Callable[[], AnswerRead | NodeWanted | Unreadable]


@dataclass(frozen=True, slots=True)
class DelayRequest:
    """A request with a rejected batch is answered or forwarded `delay_ms` from now, when the session's
    deadline has passed.

    The client is throttled, but it still sends requests, on another connection or pipelined. Until the
    deadline, the session takes nothing more from the client (a `PauseClient` follows).
    """

    delay_ms: int


@dataclass(frozen=True, slots=True)
class EnterStage:
    """The connection is in another stage now.

    RELAYING: the broker is connected, so the fast path may be used. FINISHING: read nothing more from the
    client, and give every answer to the session, not to the fast path. `CloseSession` follows when the client
    has all its answers.
    """

    stage: Stage


@dataclass(frozen=True, slots=True)
class CloseSession:
    """Flush the bytes that were sent, then close both connections. `text` is for the operators' log."""

    reason: CloseReason
    text: str


@dataclass(frozen=True, slots=True)
class EmitDead:
    """A batch was rejected, and its rule copies the culprits."""

    batch: RejectedBatch


@dataclass(frozen=True, slots=True)
class NoteOld:
    """The client uses a version that Kafka 4 does not take."""

    request: OldRequest


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the log that says why the session ends: a `snake_case_past_tense` event and its facts."""

    event: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SaslFailed:
    """The broker did not accept a login. `mechanism` is from a closed list. `error` is the name of a Kafka
    error, or our own words. Neither contains any part of the exchange, not even the user's name, because
    people type passwords where they should type names."""

    mechanism: str
    error: str


class WarningName(StrEnum):
    RECORD_FAR_AHEAD = "record_far_ahead"
    RULE_FAILED = "rule_failed"


@dataclass(frozen=True, slots=True)
class Warn:
    """A line of the log about a request. The session continues."""

    name: WarningName
    facts: Mapping[str, object]


class SessionCounter(StrEnum):
    """The events that a session counts. Each is a metric, `tsproxy_<value>_total`."""

    TOPIC_NAME_WAITS = "topic_name_waits"
    TOPIC_LIMITS_WAITS = "topic_limits_waits"
    ADDRESS_UNMAPPED = "address_unmapped"


@dataclass(frozen=True, slots=True)
class Count:
    """Add one to `counter`."""

    counter: SessionCounter


@dataclass(frozen=True, slots=True)
class TopicWanted:
    """A producer writes to a topic without limits in the view, or names a topic by an unknown id."""

    topic: TopicKey


@dataclass(frozen=True, slots=True)
class HoldBroker:
    """An answer waits for a node to be served: stop reading from the broker until `ReleaseBroker`.

    The wait ends with a view that has the node, or at the session's deadline.
    """


@dataclass(frozen=True, slots=True)
class ReleaseBroker:
    """No answer waits any more: read from the broker again."""


Effect = (
    SendToBroker
    | SendToClient
    | PauseClient
    | ResumeClient
    | MuteClient
    | UnmuteClient
    | Judge
    | DelayRequest
    | ReadAnswer
    | EnterStage
    | CloseSession
    | Emit
    | EmitDead
    | Note
    | NoteOld
    | SaslFailed
    | Warn
    | Count
    | TopicWanted
    | HoldBroker
    | ReleaseBroker
    | NodeWanted
)
