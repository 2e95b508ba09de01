"""Who may read the admin pages when `admin.token` is set.

A reader sends the token as a bearer token (RFC 6750), as Prometheus does, or as the password of Basic
authentication (RFC 7617) with any user name, as a browser does after a person has typed it. The comparison
takes the same time for all wrong tokens of the same length.
"""

import base64
import hmac
from typing import Final

from tsproxy.config.values import Secret, SecretError
from tsproxy.proxy.admin.hosts import Headers

WITHOUT_TOKEN: Final = frozenset({"/livez", "/readyz"})
"""The pages of probes. A reader without the token gets only their status, since their texts name brokers."""

_AUTHORIZATION: Final = "authorization"


def knows(token: Secret, headers: Headers) -> bool:
    """True if a request with these headers contains the token. A request with two Authorization headers
    counts as one without the token, and so does each request while the token's file cannot be read."""
    shown = [value for name, value in headers if name == _AUTHORIZATION]
    if len(shown) != 1:
        return False
    scheme, _, credentials = shown[0].partition(" ")
    candidate = _READERS.get(scheme.lower(), _nothing)(credentials.strip())
    try:
        return candidate is not None and hmac.compare_digest(candidate, token.reveal().encode())
    except SecretError:
        return False


def _bearer(credentials: str) -> bytes | None:
    return credentials.encode("latin-1")


def _basic(credentials: str) -> bytes | None:
    try:
        _, colon, password = base64.b64decode(credentials, validate=True).partition(b":")
    except ValueError:  # binascii.Error, or a text with characters beyond ASCII
        return None
    return password if colon else None


def _nothing(_: str) -> bytes | None:
    return None


_READERS: Final = {"bearer": _bearer, "basic": _basic}
