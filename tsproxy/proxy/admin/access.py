"""Who may read the admin pages when `admin.token` is set.

A reader sends the token as a bearer token (RFC 6750), as Prometheus does, or as the password of Basic
authentication (RFC 7617) with any user name, as a browser does after a person has typed it. The comparison
takes the same time for all wrong tokens of the same length.
"""

import asyncio
import base64
import hmac
from typing import Final

from tsproxy.config.values import Secret, SecretError
from tsproxy.proxy.admin.hosts import Headers

WITHOUT_TOKEN: Final = frozenset({"/livez", "/readyz"})
"""The pages of probes. A reader without the token gets only their status, since their texts name brokers."""

READ_S: Final = 1.0
"""How long requests wait for the token's file."""

_AUTHORIZATION: Final = "authorization"


class Reading:
    """Reads the token beside the event loop, since the disk of its file may stand still. Requests that come
    meanwhile share the read: however many a stranger sends, one thread waits."""

    def __init__(self) -> None:
        self._reads: dict[Secret, tuple[asyncio.Future[str], float]] = {}
        """Token -> its read, and the end of the wait for it on the loop's clock."""

    async def knows(self, token: Secret, headers: Headers) -> bool:
        """True if a request with these headers contains the token. A request with two Authorization headers
        counts as one without the token, and so does each request while the token's file cannot be read."""
        shown = [value for name, value in headers if name == _AUTHORIZATION]
        if len(shown) != 1:
            return False
        scheme, _, credentials = shown[0].partition(" ")
        candidate = _READERS.get(scheme.lower(), _nothing)(credentials.strip())
        if candidate is None:
            return False
        try:
            return hmac.compare_digest(candidate, (await self._revealed(token)).encode())
        except (SecretError, TimeoutError):
            return False

    async def _revealed(self, token: Secret) -> str:
        """Raises SecretError, or TimeoutError if the read has taken READ_S, whoever began it."""
        loop = asyncio.get_running_loop()
        if token not in self._reads:
            read = loop.run_in_executor(None, token.reveal)
            self._reads[token] = read, loop.time() + READ_S
            read.add_done_callback(lambda _: self._reads.pop(token))
        read, ends = self._reads[token]
        async with asyncio.timeout_at(ends):
            return await asyncio.shield(read)


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
