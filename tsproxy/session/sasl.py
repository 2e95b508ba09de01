"""Watches a SASL exchange pass by: when has the broker accepted the peer, and who is it?

Source: `SaslServerAuthenticator.java`, RFC 4616 (PLAIN), RFC 5802 (SCRAM), RFC 7628 (OAUTHBEARER).
Tokens are relayed untouched and never kept; of each only the name is taken (`sasl_names`). Handshake v1
carries them in SaslAuthenticate, v0 as raw frames without a header.

An exchange goes in lockstep: after each step the session takes no further frame until the broker
has answered, so that nothing is judged, and nothing slips by, before the peer is accepted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tsproxy.session.sasl_names import bearer_name, plain_name, scram_name


@dataclass(frozen=True, slots=True)
class _Mechanism:
    """`name_of` a client's token; where only the first of an exchange has one, `is_named_first`."""

    name_of: Callable[[bytes], str | None]
    is_named_first: bool = False


_NAMED: Final = {
    "PLAIN": _Mechanism(plain_name),
    "SCRAM-SHA-256": _Mechanism(scram_name, is_named_first=True),
    "SCRAM-SHA-512": _Mechanism(scram_name, is_named_first=True),
    "OAUTHBEARER": _Mechanism(bearer_name),
}


def _is_last_answer(mechanism: str, token: bytes) -> bool:
    """True where the broker's token ends the exchange: SCRAM's is its proof, the others' is empty."""
    if mechanism.startswith("SCRAM-"):
        return token.startswith(b"v=")
    return not token or mechanism not in (*_NAMED, "GSSAPI")


class SaslWatch:
    """`is_accepted`: the broker needs no SASL here, or an exchange has ended well.

    `takes_raw_tokens`: the next frames are tokens without a header (handshake v0).
    `principal`: whom the broker has authenticated, as far as the exchange shows it. Before an exchange it
    is `shown`, who the client's certificate says it is; after one never, since a broker goes by SASL
    alone (`DefaultKafkaPrincipalBuilder`).
    """

    def __init__(self, is_needed: bool, shown: str | None = None) -> None:
        self.is_accepted = not is_needed
        self.takes_raw_tokens = False
        self.principal = shown
        self._mechanism = ""
        self._version = 1
        self._tokens = 0
        self._name: str | None = None
        self._authenticated: str | None = None
        """The first name that the broker has accepted: a renewal keeps it (KIP-368)."""

    def handshake_sent(self, version: int, mechanism: str) -> None:
        """A new exchange: nothing of the one before it counts."""
        self._version, self._mechanism = version, mechanism
        self._tokens, self._name = 0, None

    def handshake_answered(self, error_code: int) -> None:
        self.takes_raw_tokens = error_code == 0 and self._version == 0

    def token_sent(self, token: bytes) -> None:
        mechanism = _NAMED.get(self._mechanism)
        if mechanism is not None and not (mechanism.is_named_first and self._tokens):
            self._name = mechanism.name_of(token)
        self._tokens += 1

    def token_answered(self, error_code: int, token: bytes) -> None:
        if error_code == 0 and _is_last_answer(self._mechanism, token):
            self._accept()
        elif error_code != 0 or self._mechanism == "OAUTHBEARER":
            self._name = None  # RFC 7628: an answer that goes on says that the token will not do

    def _accept(self) -> None:
        self.is_accepted = True
        self.takes_raw_tokens = False
        name, known = self._name, self._authenticated
        if known is not None and name != known:
            name = None  # no broker of Kafka's takes another principal: one of the two was misread
        self._authenticated = known if known is not None else name
        self.principal = f"User:{name}" if name is not None else None
