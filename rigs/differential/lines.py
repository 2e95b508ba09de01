"""Two ways to the same broker: straight, and through a `Session` in this process.

Both take request frames and give, for each, the answer's payload (without its size), or None where
the connection was closed instead. Requests are pipelined; where a connection closes, those behind it
go over a new one, since a broker takes one request of a connection at a time.
"""

import socket
import struct
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final

from rigs.differential.requests import NO_IDS, Answers, Sent, produce_frame, read_answers
from tests.session.conversation import Session
from tests.session.messages import cut_frames
from tsproxy.model.outcome import Outcome, Peer
from tsproxy.model.view import View
from tsproxy.session.effects import (
    CloseSession,
    Effect,
    Emit,
    Judge,
    ReadAnswer,
    SendToBroker,
    SendToClient,
)
from tsproxy.session.events import DeadlinePassed
from tsproxy.testing.kafka_cluster import KafkaCluster

PATIENCE_S: Final = 60
_SIZE: Final = struct.Struct(">i")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Stream:
    """A blocking socket that reads whole frames."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        # A broker that closed: what it answered before can still be read.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)

    def receive(self) -> bytes | None:
        """The next frame's payload; None where the broker closed."""
        try:
            head = self._file.read(_SIZE.size)
            if len(head) < _SIZE.size:
                return None
            size = _SIZE.unpack(head)[0]
            payload = self._file.read(size)
        except ConnectionResetError:
            return None
        return payload if len(payload) == size else None

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def address_of(kafka: KafkaCluster) -> tuple[str, int]:
    """Host and port at which clients reach the first of its brokers."""
    node = kafka.node(kafka.node_ids[0])
    return node.host, node.port


class Line(AbstractContextManager):
    """One way to the broker, which closes with a `with`."""

    _stream: Stream

    @abstractmethod
    def ask(self, frames: Sequence[bytes]) -> list[bytes | None]:
        """Send these requests at once; their answers, None where the connection was closed instead."""

    def told(self, version: int, sent: Sequence[Sent], acks: int = 1, **more: Any) -> Answers:
        """The answers to one ProduceRequest. Raises AssertionError if the connection was closed upon it."""
        (payload,) = self.ask([produce_frame(version, acks, sent, **more)])
        assert payload is not None, "closed upon a batch"
        return read_answers(version, payload, more.get("ids", NO_IDS))

    def close(self) -> None:
        self._stream.close()

    def __exit__(self, *_: object) -> None:
        self.close()


class Direct(Line):
    """Straight to the broker."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._stream = Stream(address)

    def ask(self, frames: Sequence[bytes]) -> list[bytes | None]:
        answers: list[bytes | None] = []
        while len(answers) < len(frames):
            self._stream.send(b"".join(frames[len(answers) :]))
            while len(answers) < len(frames):
                answer = self._stream.receive()
                answers.append(answer)
                if answer is None:
                    self.reconnect()
                    break
        return answers

    def reconnect(self) -> None:
        self._stream.close()
        self._stream = Stream(self._address)


class Proxied(Line):
    """Through the proxy's core: what the shell would do, done with a blocking socket."""

    def __init__(self, address: tuple[str, int], view: View, clock: Callable[[], int] = now_ms) -> None:
        self.view = view
        self.outcomes: list[Outcome] = []
        self._address = address
        self._clock = clock
        self._start()

    def ask(self, frames: Sequence[bytes]) -> list[bytes | None]:
        answers: list[bytes | None] = []
        while len(answers) < len(frames):
            effects = self._session.client_bytes(b"".join(frames[len(answers) :]), self._clock())
            while True:
                is_open = self._perform(effects)
                answers += [frame[_SIZE.size :] for frame in cut_frames(self._to_client)]
                if not is_open:
                    answers.append(None)
                    self.close()
                    self._start()
                    break
                if len(answers) >= len(frames):
                    break
                effects = self._from_broker()
        return answers

    def see(self, view: View) -> None:
        """Judge by this view from now on."""
        self.view = view
        self._perform(self._session.apply_view(view, self._clock()))

    def ask_nothing(self, frame: bytes) -> bool:
        """Send a request that has no answer (acks=0); False where the session closed upon it."""
        is_open = self._perform(self._session.client_bytes(frame, self._clock()))
        if not is_open:
            self.close()
        return is_open

    def _start(self) -> None:
        self._stream = Stream(self._address)
        self._session = Session(Peer("test", "127.0.0.1", 1), self.view)
        self._to_client = bytearray()

    def _from_broker(self) -> list[Effect]:
        payload = self._stream.receive()
        if payload is None:
            return self._session.broker_lost()
        return self._session.broker_bytes(_SIZE.pack(len(payload)) + payload, self._clock())

    def _perform(self, effects: Sequence[Effect]) -> bool:
        """False where the session closed."""
        for effect in effects:
            match effect:
                case SendToBroker():
                    self._stream.send(effect.data)
                case SendToClient():
                    self._to_client += effect.data
                case Emit():
                    self.outcomes.append(effect.outcome)
                case Judge():
                    return self._perform(self._session.judged(effect.job(), self._clock()))
                case ReadAnswer():
                    return self._perform(self._session.answer_read(effect.job(), self._clock()))
                case CloseSession():
                    return False
        if self._session.is_delayed:  # several waits may be on: each ends by itself
            over_ms = self._session.next_deadline_ms
            return self._perform(self._session.feed(DeadlinePassed(), self._clock(), over_ms))
        return True
