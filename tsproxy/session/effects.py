"""The effects of a session: all that it asks the shell to do. Nothing else leaves the session.

The shell performs effects in their order. A session returns no effect after `CloseSession`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from tsproxy.model.dead_letter import RejectedBatch
from tsproxy.model.produce import TopicKey
from tsproxy.session.job import Job
from tsproxy.session.lifetime import Stage
from tsproxy.session.reading import AnswerRead, Unreadable
from tsproxy.session.reading import NodeWanted as NodeWanted
from tsproxy.session.verdict import Emit as Emit
from tsproxy.session.verdict import Judged


class ReasonToClose(StrEnum):
    """Why a client's connection ended. It is the label of a metric, so each list is closed.

    `cause` says what happened, `lost` which requests have no answer then, and `no_answer` why the connection
    closes in place of an answer. transparency.md shows these texts. No reason ends the connection of
    another client.
    """

    cause: str
    lost: str
    no_answer: str

    def __new__(cls, value: str, cause: str, lost: str, no_answer: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.cause, member.lost, member.no_answer = cause, lost, no_answer
        return member


class CloseReason(ReasonToClose):
    """Why a session ended."""

    NOT_KAFKA = (
        "not_kafka",
        "The first bytes are no Kafka request, for example TLS or HTTP to a plain port.",
        "none",
        "The peer does not understand Kafka's answers. Brokers close, too.",
    )
    BAD_FRAME = (
        "bad_frame",
        "A request cannot be read, or has a forbidden form, such as a partition that is named twice.",
        "this request and later ones; earlier ones are answered first",
        "Nobody knows what was asked. Brokers close, too.",
    )
    FRAME_TOO_LARGE = (
        "frame_too_large",
        "A request is larger than `limits.produce_frame` or `limits.other_frame`.",
        "this request and later ones; earlier ones are answered first",
        "Brokers close, too, above `socket.request.max.bytes` (100 MiB, as `limits.produce_frame`, by "
        "default).",
    )
    UNSUPPORTED_REQUEST = (
        "unsupported_request",
        "A request has an API or a version that was not offered, or comes before the login. Or a producer "
        "names a topic by an id that the proxy's user may not describe.",
        "this request (a denied id is answered with 100) and later ones; earlier ones are answered first",
        "Brokers close, too. After a denied id, only a new connection can be offered Produce 12.",
    )
    ACKS_ZERO_REJECTED = (
        "acks_zero_rejected",
        "A batch that was sent with `acks=0` is rejected.",
        "later requests; the accepted batches of this one are forwarded",
        "A request with `acks=0` has no answer. Brokers close, too, so that the client notices.",
    )
    BAD_ANSWER = (
        "bad_answer",
        "An answer of a broker cannot be read, or does not belong to the request that is due.",
        "this request and all that wait for an answer; a broker may have stored their batches",
        "The answer might name a broker's own address, so it is not forwarded. Clients close, too, after "
        "an answer that they cannot read.",
    )
    SASL_FAILED = (
        "sasl_failed",
        "The broker did not accept the login. A line of the log reports it.",
        "none: nothing is judged before the login",
        "The broker's own answer is forwarded first. The broker closes then.",
    )
    PEER_CLOSED = (
        "peer_closed",
        "The client or the broker closed its connection.",
        "as without the proxy: those that wait for an answer if the broker closed",
        "There is nobody to answer, or nobody who could.",
    )
    INTERNAL_ERROR = (
        "internal_error",
        "A mistake in tsproxy. The log has its place.",
        "all that wait for an answer; a broker may have stored their batches",
        "The state of the connection is not known any more.",
    )


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
    """The events that a session counts. Each is a metric, `tsproxy_<value>_total`.

    `unit` says what is counted, `meaning` is the HELP text of the metric, and `action` tells operators what
    to do with it.
    """

    unit: str
    meaning: str
    action: str

    def __new__(cls, value: str, unit: str = "", meaning: str = "", action: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.unit, member.meaning, member.action = unit, meaning, action
        return member

    TOPIC_NAME_WAITS = (
        "topic_name_waits",
        "requests",
        "Requests that waited for the name of a topic that they name by id",
        "Each new topic causes one for each connection or so (Produce 13). Many: brokers answer the proxy's "
        "own connection late, or clients name ids that no topic has.",
    )
    TOPIC_LIMITS_WAITS = (
        "topic_limits_waits",
        "requests",
        "Requests that waited for the limits of a topic",
        "The first request to each topic in a while causes one. Many: brokers answer the proxy's own "
        "connection late, or clients name topics that do not exist.",
    )
    ADDRESS_UNMAPPED = (
        "address_unmapped",
        "answers",
        "Answers from which a broker was left out, because no port here leads to it",
        "Partitions that this broker leads are not available to clients here. `broker_not_served` in the log "
        "says why: mostly `listeners[].brokers.count` is too small, or `first_id` is not the lowest id.",
    )


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
    | SaslFailed
    | Warn
    | Count
    | TopicWanted
    | HoldBroker
    | ReleaseBroker
    | NodeWanted
)
