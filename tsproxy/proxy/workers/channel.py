"""The messages between a supervisor and a worker: the orders first, then one JSON object per line.

The channel is a socket pair whose far end the worker inherits. The environment names the descriptor.
It closes when either process ends, for whatever reason, and the other process reacts to that.

    supervisor: {"order": "report", "id": 7} | {"order": "ready", "id": 7} | {"order": "drain"}
                | {"order": "stop_now"}
                | {"order": "prepare", "id": 8, "config": ...} | {"order": "commit"} | {"order": "abandon"}
    worker:     {"event": "started", ...} | {"event": "failed", "text"} | {"event": "stopped", ...}
                | {"event": "heard"} before each order
                | {"event": "report", "id": 7, "report": {...}}
                | {"event": "ready", "id": 7, "not_ready": [...]}
                | {"event": "prepared", "id": 8, "problems": [...]}
"""

import asyncio
import base64
import json
import os
import pickle
import socket
import struct
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from tsproxy.config.settings import Config
from tsproxy.proxy.startup import Kept

VARIABLE: Final = "TSPROXY_WORKER_CHANNEL"
MAX_LINE_BYTES: Final = 64 << 20
"""The longest line. A report has a few thousand series at most; the limit only keeps an error from filling
the memory."""

_LENGTH: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Orders:
    """The settings with which a worker starts. The configuration comes from the supervisor, not from the
    file, since the file may have changed, and all workers run the same configuration.
    `kept` is for a process that replaces one which has accepted clients."""

    number: int
    config: Config
    kept: Kept | None = None


def inherited_orders(environ: MutableMapping[str, str]) -> tuple[Orders, socket.socket] | None:
    """This process's orders and its end of the channel if a supervisor started it, else None. Blocks until
    the orders have come.

    Raises EOFError if the supervisor ended before it sent the orders.
    """
    descriptor = environ.pop(VARIABLE, None)
    if descriptor is None:
        return None
    os.set_inheritable(int(descriptor), False)
    end = socket.socket(fileno=int(descriptor))
    (length,) = _LENGTH.unpack(_exactly(end, _LENGTH.size))
    # Secrets are sent this way too, since arguments and environment would show them.
    orders: Orders = pickle.loads(_exactly(end, length))  # noqa: S301  # our own parent wrote it
    return orders, end


def as_text(config: Config) -> str:
    """A configuration as text for a line, including secrets."""
    return base64.b64encode(pickle.dumps(config)).decode()


def config_of(text: str) -> Config:
    config: Config = pickle.loads(base64.b64decode(text))  # noqa: S301  # our own parent wrote it
    return config


def _exactly(end: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        more = end.recv(count - len(received))
        if not more:
            raise EOFError("the supervisor ended before it gave its orders")
        received += more
    return received


class Channel:
    """One end of the channel. Messages to a process that has ended are lost without an error. `lines` ends
    when the other process ends."""

    __slots__ = ("_reader", "_writer")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> "Channel":
        return cls(*await asyncio.open_unix_connection(sock=end, limit=MAX_LINE_BYTES))

    def send_orders(self, orders: Orders) -> None:
        """Send the orders. The supervisor must call it before `send`."""
        text = pickle.dumps(orders)
        self._writer.write(_LENGTH.pack(len(text)) + text)

    def send(self, line: Mapping[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(json.dumps(line).encode() + b"\n")

    async def lines(self) -> AsyncIterator[Mapping[str, Any]]:
        """The messages of the other end, until it closes."""
        with suppress(ConnectionError):
            while (line := await self._reader.readline()).endswith(b"\n"):
                yield cast("Mapping[str, Any]", json.loads(line))

    async def close(self) -> None:
        """Send the remaining messages, then close."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()
