"""TLS objects for the event loops that avoid an OpenSSL error at the end of each read.

Both loops read a connection until it raises `SSLWantReadError`. The `ssl` module takes longer to make that
error than to decrypt a small request, because it formats a text with OpenSSL's numbers. The call to OpenSSL
is useless if no new byte has arrived and OpenSSL holds no decrypted rest.
"""

import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on


class TlsConnection(ssl.SSLObject):
    """A TLS connection. `asked_host` is the host name that a client has requested (SNI), in lower case."""

    asked_host: str | None = None

    incoming: ssl.MemoryBIO
    """Encrypted bytes that have arrived and that OpenSSL has not read yet. The loop puts them there."""

    _sslobj: Any
    """OpenSSL's connection, which ssl.SSLObject wraps. It is called directly to save a call."""

    def read(self, len: int = 1024, buffer: "Buffer | None" = None) -> Any:  # bytes, or the number of bytes
        """See `ssl.SSLObject.read`."""
        incoming, connection = self.incoming, self._sslobj
        if not incoming.pending and not connection.pending() and not incoming.eof:
            raise ssl.SSLWantReadError
        return connection.read(len) if buffer is None else connection.read(len, buffer)


class TlsContext(ssl.SSLContext):
    """A context that makes each connection a `TlsConnection`. Everything else is unchanged."""

    sslobject_class = TlsConnection

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **named: Any) -> Any:
        connection = super().wrap_bio(incoming, outgoing, *args, **named)
        assert isinstance(connection, TlsConnection)
        connection.incoming = incoming
        return connection
