"""Watches a SASL exchange pass by: when has the broker accepted the peer, and who is it?

Source: `SaslServerAuthenticator.java`, RFC 4616 (PLAIN), RFC 5802 (SCRAM), RFC 7628 (OAUTHBEARER).
Tokens are relayed untouched and never kept; of each only the name is taken. Handshake v1 carries
them in SaslAuthenticate, v0 as raw frames without a header.

An exchange goes in lockstep: after each step the session takes no further frame until the broker
has answered, so that nothing is judged, and nothing slips by, before the peer is accepted.
"""

import base64
import binascii
import json
from collections.abc import Callable
from typing import Final


def _plain_name(token: bytes) -> str | None:
    parts = token.split(b"\x00")
    return parts[1].decode("utf-8", "replace") if len(parts) == 3 else None


def _scram_name(token: bytes) -> str | None:
    """None for a delegation token, whose id stands where a name does: its owner only the broker knows."""
    fields = token.split(b",")
    if any(field.lower() == b"tokenauth=true" for field in fields):
        return None
    named = next((f[2:] for f in fields if f.startswith(b"n=")), None)
    if named is None:
        return None
    return named.decode("utf-8", "replace").replace("=2C", ",").replace("=3D", "=")


def _bearer_name(token: bytes) -> str | None:
    """The `sub` claim of the JWT; the broker has verified it by the time it is used. Of several the broker
    takes the last (`OAuthBearerClientInitialResponse`): any other may be somebody else's."""
    pairs = [field.partition(b"=") for field in token.split(b"\x01")]
    auth = next((value for key, _, value in reversed(pairs) if key == b"auth"), b"")
    claims = auth.split(b".")[1:2] if auth.lower().startswith(b"bearer ") else []
    try:
        subject = json.loads(base64.urlsafe_b64decode(claims[0] + b"==="))["sub"] if claims else None
    except (binascii.Error, ValueError, KeyError, TypeError, RecursionError):  # the last: JSON nested deep
        return None
    return subject if isinstance(subject, str) else None


_NAMES: Final[dict[str, Callable[[bytes], str | None]]] = {
    "PLAIN": _plain_name,
    "SCRAM-SHA-256": _scram_name,
    "SCRAM-SHA-512": _scram_name,
    "OAUTHBEARER": _bearer_name,
}


def _is_last_answer(mechanism: str, token: bytes) -> bool:
    """True where the broker's token ends the exchange: SCRAM's is its proof, the others' is empty."""
    if mechanism.startswith("SCRAM-"):
        return token.startswith(b"v=")
    return not token or mechanism not in (*_NAMES, "GSSAPI")


class SaslWatch:
    """`is_accepted`: the broker needs no SASL here, or an exchange has ended well.

    `takes_raw_tokens`: the next frames are tokens without a header (handshake v0).
    `principal`: who the broker has accepted, where the mechanism shows it; else `shown`, which is who
    the client's certificate says it is.
    """

    def __init__(self, is_needed: bool, shown: str | None = None) -> None:
        self.is_accepted = not is_needed
        self.takes_raw_tokens = False
        self.principal = shown
        self._shown = shown
        self._mechanism = ""
        self._version = 1
        self._name: str | None = None

    def handshake_sent(self, version: int, mechanism: str) -> None:
        self._version, self._mechanism, self._name = version, mechanism, None

    def handshake_answered(self, error_code: int) -> None:
        self.takes_raw_tokens = error_code == 0 and self._version == 0

    def token_sent(self, token: bytes) -> None:
        read = _NAMES.get(self._mechanism)
        if read is not None and self._name is None:
            self._name = read(token)

    def token_answered(self, error_code: int, token: bytes) -> None:
        if error_code == 0 and _is_last_answer(self._mechanism, token):
            self.is_accepted = True
            self.takes_raw_tokens = False
            self.principal = f"User:{self._name}" if self._name is not None else self._shown
