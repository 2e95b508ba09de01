"""Watches a SASL exchange: `SaslWatch` finds out when the broker has accepted the peer, who the peer is, or
why the exchange failed.

Source: `SaslServerAuthenticator.java`, RFC 4616 (PLAIN), RFC 5802 (SCRAM), RFC 7628 (OAUTHBEARER). Tokens are
forwarded unchanged and never kept. Only the user's name is read from them (`sasl_names`). After handshake v1,
tokens come in SaslAuthenticate. After v0, they come as raw frames without a header.

An exchange goes in lockstep: after each step, the session takes no further frame until the broker has
answered. So before the peer is accepted, no request is judged, and no request passes unchecked.
"""

from typing import Final

from tsproxy.model.kafka import ErrorCode
from tsproxy.session.effects import SaslFailed
from tsproxy.session.sasl_names import bearer_name, plain_name, scram_name
from tsproxy.session.states import Cause

OTHER: Final = "other"
"""A mechanism that is none of `_KNOWN`. The client's own name for it may be anything, and is not logged."""


_KNOWN: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"})
_END_EMPTY: Final = frozenset({"PLAIN", "OAUTHBEARER", "GSSAPI"})
"""The mechanisms in which the broker's last token is empty, and no earlier token of the broker is."""


NEVER_ENDS_BY_RAW_TOKENS: Final = frozenset({"GSSAPI"})
"""The mechanisms whose last token has no answer after SaslHandshake version 0 (`SaslServerAuthenticator`
sends no null). The session would wait for it, and the client for the answers to its requests. So the
handshake is rejected."""


CLOSED: Final = "the broker closed instead of an answer"
REJECTED_TOKEN: Final = "the broker rejected the token"  # noqa: S105  # words of the log


def _is_last_answer(mechanism: str, token: bytes) -> bool:
    """True if the broker's token ends the exchange. SCRAM's last token is the broker's proof. If the
    mechanism is neither SCRAM nor in `_END_EMPTY`, the first token ends the exchange."""
    if mechanism.startswith("SCRAM-"):
        return token.startswith(b"v=")
    return not token or mechanism not in _END_EMPTY


class SaslWatch:
    """The SASL exchanges of one connection.

    `is_accepted`: the broker needs no SASL here, or an exchange has succeeded.
    `takes_raw_tokens`: the next frames are tokens without a header (handshake v0).
    `principal`: the user whom the broker has authenticated, as far as the exchange shows the user. Until an
    exchange has succeeded, it is `shown`, the principal that the client's certificate names. After that,
    `shown` is not used, because a broker then uses only SASL for the principal
    (`DefaultKafkaPrincipalBuilder`).
    `has_failed`: the newest exchange has failed.
    """

    def __init__(self, is_needed: bool, shown: str | None = None, bearer_claim: str = "sub") -> None:
        self.is_accepted = not is_needed
        self.takes_raw_tokens = False
        self.principal = shown
        self.has_failed = False
        self._bearer_claim = bearer_claim
        self._mechanism = ""
        self._version = 1
        self._tokens = 0
        self._name: str | None = None
        self._is_owed_answer = False
        self._was_rejected_token = False
        self._authenticated: str | None = None
        """The first name that the broker has accepted: a renewal keeps it (KIP-368)."""

    @property
    def next_step(self) -> Cause:
        """The cause of the session's next state, after the broker's answer."""
        if self.takes_raw_tokens:
            return Cause.RAW_TOKEN_EXPECTED
        return Cause.ACCEPTED if self.is_accepted else Cause.SASL_REQUEST_EXPECTED

    def handshake_sent(self, version: int, mechanism: str) -> None:
        """A new exchange begins: nothing of an earlier exchange counts."""
        self._version, self._mechanism = version, mechanism
        self._tokens, self._name = 0, None
        self.has_failed = self._was_rejected_token = False

    def handshake_answered(self, error_code: int) -> SaslFailed | None:
        """Returns a failure if the broker rejected the handshake."""
        self.takes_raw_tokens = error_code == 0 and self._version == 0
        return None if error_code == 0 else self._failed(error_code)

    def token_sent(self, token: bytes) -> None:
        self._name = self._name_in(token)
        self._tokens += 1
        self._is_owed_answer = True

    def _name_in(self, token: bytes) -> str | None:
        """The user that this token names, as far as the mechanism shows it."""
        match self._mechanism:
            case "PLAIN":
                return plain_name(token)
            case "OAUTHBEARER":
                return bearer_name(token, self._bearer_claim)
            case "SCRAM-SHA-256" | "SCRAM-SHA-512":
                return self._name if self._tokens else scram_name(token)  # the first token names the user
            case _:
                return None

    def token_answered(self, error_code: int, token: bytes) -> SaslFailed | None:
        """Returns a failure if the broker rejected the token; else the peer may be accepted now."""
        self._is_owed_answer = False
        if error_code != 0:
            self._name = None
            return self._failed(error_code)
        if _is_last_answer(self._mechanism, token):
            self._accept()
        elif self._mechanism == "OAUTHBEARER":  # RFC 7628: the token was rejected; another one may follow
            self._name, self._was_rejected_token = None, True
        return None

    def parted(self, is_broker: bool) -> SaslFailed | None:
        """Returns a failure if the exchange fails because the broker or the client closes.

        After handshake v0, a broker can reject only in this way. A renewal by another mechanism also ends in
        this way.
        """
        if self.has_failed:
            return None
        if is_broker and self._is_owed_answer:
            return self._failure(CLOSED)
        return self._failure(REJECTED_TOKEN) if self._was_rejected_token else None

    def _accept(self) -> None:
        self.is_accepted = True
        self.takes_raw_tokens = self._was_rejected_token = False
        name, known = self._name, self._authenticated
        if known is not None and name != known:
            name = None  # no Kafka broker accepts another principal: one of the two names was misread
        self._authenticated = known if known is not None else name
        self.principal = f"User:{name}" if name is not None else None

    def _failed(self, error_code: int) -> SaslFailed | None:
        if self.is_accepted and error_code == ErrorCode.ILLEGAL_SASL_STATE:
            return None  # the answer of a broker without renewals, which then continues
        return self._failure(_error_name(error_code))

    def _failure(self, error: str) -> SaslFailed:
        self.has_failed = True
        return SaslFailed(self._mechanism if self._mechanism in _KNOWN else OTHER, error)


def _error_name(error_code: int) -> str:
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return f"error {error_code}"
