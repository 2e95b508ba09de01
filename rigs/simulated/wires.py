"""The bytes between a link and its peer: `Wire`, and `SocketWire` where the pipe needs a real socket."""

import socket

from rigs.simulated.draws import Stream

LEAST_ROOM, MAX_ROOM, WIDEST_ROOM = 64, 8_192, 1 << 20
"""Bytes that the network takes of a connection over TLS before the peer reads them: so many at first, and
twice as many with each read, as TCP does."""


class Wire:
    """The bytes on their way to the peer, in Python alone: for a connection over TLS."""

    socket = None

    def __init__(self, stream: Stream) -> None:
        self._bytes = bytearray()
        self._room = stream.randint(LEAST_ROOM, MAX_ROOM)

    def send(self, data: bytes) -> int:
        taken = data[: max(0, self._room - len(self._bytes))]
        self._bytes += taken
        return len(taken)

    def read(self, size: int) -> bytes:
        data = bytes(self._bytes[:size])
        del self._bytes[:size]
        if data:
            self._room = min(2 * self._room, WIDEST_ROOM)
        return data

    def close_inside(self) -> None:
        pass

    def close(self) -> None:
        self._bytes.clear()


class SocketWire:
    """The same through a pair of sockets: the pipe writes to the number of the inner one itself."""

    def __init__(self, stream: Stream) -> None:
        self.socket, self.outside = socket.socketpair()
        self.socket.setblocking(False)
        self.outside.setblocking(False)
        if stream.random() < 0.4:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, stream.randint(2_304, 8_192))

    def send(self, data: bytes) -> int:
        try:
            return self.socket.send(data)
        except BlockingIOError:
            return 0

    def read(self, size: int) -> bytes:
        try:
            return self.outside.recv(size)
        except (BlockingIOError, ConnectionResetError):
            return b""

    def close_inside(self) -> None:
        self.socket.close()

    def close(self) -> None:
        self.socket.close()
        self.outside.close()


class TlsObject:
    """The result of a handshake: no certificate of the client, and no name that it asked for."""

    asked_host = None

    def getpeercert(self, binary_form=False):
        return None


class NoSocket:
    """The socket of a connection over TLS: only its options are set."""

    def setsockopt(self, *_):
        pass
