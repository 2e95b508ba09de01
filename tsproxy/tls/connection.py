"""TLS as the event loops read it, without an error of OpenSSL's at the end of each read.

Both loops read a connection until it raises `SSLWantReadError`, and the `ssl` module takes longer to make
that one than to decrypt a small request: it writes a text and fills in OpenSSL's numbers. There is nothing
to ask OpenSSL, though, where no byte has come that it has not taken and nothing that it took is left.
"""

import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on


class TlsConnection(ssl.SSLObject):
    """`asked_host` is the host name that a client asked for (SNI), in lower case."""

    asked_host: str | None = None

    incoming: ssl.MemoryBIO
    """What has come, encrypted, and was not taken yet: the loop puts it there."""

    _sslobj: Any
    """OpenSSL's connection, which ssl.SSLObject wraps; asked itself, as each call through both counts."""

    def read(self, len: int = 1024, buffer: "Buffer | None" = None) -> Any:  # bytes, or how many there are
        """See `ssl.SSLObject.read`."""
        incoming, connection = self.incoming, self._sslobj
        if not incoming.pending and not connection.pending() and not incoming.eof:
            raise ssl.SSLWantReadError
        return connection.read(len) if buffer is None else connection.read(len, buffer)


class TlsContext(ssl.SSLContext):
    """Of such connections; all else is as ever."""

    sslobject_class = TlsConnection

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **named: Any) -> Any:
        connection = super().wrap_bio(incoming, outgoing, *args, **named)
        assert isinstance(connection, TlsConnection)
        connection.incoming = incoming
        return connection
