"""The states of a session, and the causes that lead from one state to another: the table `TRANSITIONS`.

ARCHITECTURE.md has a drawing of this table. The columns `takes_requests` and `fast_path_allowed` say what a
state allows. Nevertheless, no request is taken while too many requests are in flight, or while too many bytes
of our own answers wait.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class SessionState(Enum):
    """The states of a session. Each has a meaning and three flags:

    * `takes_requests`: the next request may be taken;
    * `fast_path_allowed`: the fast path may forward a whole frame if the frame's bytes allow it;
    * `holds_request`: the session holds a request that is neither forwarded nor answered.
    """

    AUTHENTICATING = "the broker has not accepted the client: only SASL is taken", True, False, False
    SASL_STEP = "a SASL request is in flight: nothing is taken before its answer", False, False, False
    RAW_TOKEN = "the next frame is a SASL token without a header (handshake v0)", True, False, False
    READY = "requests are taken", True, True, False
    NAMING = "a request waits for the name or the limits of a topic", False, False, True
    JUDGING = "a thread judges a request", False, False, True
    DELAYED = "a rejected request waits until its client is not muted any more", False, False, True
    ENDING = "no request is taken; earlier ones are still answered", False, False, False
    CLOSED = "both ends are to be closed", False, False, False

    def __init__(
        self, meaning: str, takes_requests: bool, fast_path_allowed: bool, holds_request: bool
    ) -> None:
        self.meaning = meaning
        self.takes_requests = takes_requests
        self.fast_path_allowed = fast_path_allowed
        self.holds_request = holds_request


class Cause(Enum):
    SASL_SENT = "a handshake or a token goes to the broker"
    SASL_REQUEST_EXPECTED = "the broker has answered, and the client is not accepted yet"
    RAW_TOKEN_EXPECTED = "the same, and the next token has no header"  # noqa: S105  # words of a drawing
    ACCEPTED = "the broker has answered, and the client is accepted"
    UNNAMED = "a request names a topic whose name or limits are not known yet"
    NAMED = "they are known, or the wait for them is over"
    OFFLOADED = "a request is expensive to judge"
    JUDGED = "the thread has judged it"
    MUTED = "a request is rejected while its client should be muted"
    UNMUTED = "the delay of that request is over"
    REJECTED = "a request ends the session, once those before it are answered"
    OVER = "the session ends now"


TRANSITIONS: Final[Mapping[SessionState, Mapping[Cause, SessionState]]] = {
    SessionState.AUTHENTICATING: {
        Cause.SASL_SENT: SessionState.SASL_STEP,
        Cause.REJECTED: SessionState.ENDING,
        Cause.OVER: SessionState.CLOSED,
    },
    SessionState.SASL_STEP: {
        Cause.SASL_REQUEST_EXPECTED: SessionState.AUTHENTICATING,
        Cause.RAW_TOKEN_EXPECTED: SessionState.RAW_TOKEN,
        Cause.ACCEPTED: SessionState.READY,
        Cause.OVER: SessionState.CLOSED,
    },
    SessionState.RAW_TOKEN: {
        Cause.SASL_SENT: SessionState.SASL_STEP,
        Cause.REJECTED: SessionState.ENDING,
        Cause.OVER: SessionState.CLOSED,
    },
    SessionState.READY: {
        Cause.SASL_SENT: SessionState.SASL_STEP,
        Cause.UNNAMED: SessionState.NAMING,
        Cause.OFFLOADED: SessionState.JUDGING,
        Cause.MUTED: SessionState.DELAYED,
        Cause.REJECTED: SessionState.ENDING,
        Cause.OVER: SessionState.CLOSED,
    },
    SessionState.NAMING: {Cause.NAMED: SessionState.READY, Cause.OVER: SessionState.CLOSED},
    SessionState.JUDGING: {Cause.JUDGED: SessionState.READY, Cause.OVER: SessionState.CLOSED},
    SessionState.DELAYED: {Cause.UNMUTED: SessionState.READY, Cause.OVER: SessionState.CLOSED},
    SessionState.ENDING: {Cause.OVER: SessionState.CLOSED},
    SessionState.CLOSED: {},
}


class TransitionError(Exception):
    """The table has no entry for this cause in this state: our code has a mistake."""


def after(state: SessionState, cause: Cause) -> SessionState:
    """The state that follows `state` after `cause`. Raises TransitionError."""
    following = TRANSITIONS[state].get(cause)
    if following is None:
        raise TransitionError(f"{cause.name} in {state.name}")
    return following


def first_state(broker_needs_sasl: bool) -> SessionState:
    return SessionState.AUTHENTICATING if broker_needs_sasl else SessionState.READY
