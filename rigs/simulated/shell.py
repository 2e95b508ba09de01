"""The product's listener, relays and sessions, between producers and brokers of a test: `Shell`.

A world makes everything up by its seed. Here the test says what is sent, and the seed only cuts it into
reads. The brokers accept every batch that reaches them, as brokers without limits of their own do.
"""

import contextlib
import struct
from collections.abc import Iterator

from rigs.simulated.changes import facts
from rigs.simulated.draws import Draws
from rigs.simulated.history import stored
from rigs.simulated.link import Link
from rigs.simulated.loop import TOO_MANY_STEPS
from rigs.simulated.network import Incoming
from rigs.simulated.proxy import SimulatedProxy
from rigs.simulated.requests import cut_frames
from tests.session.messages import API_VERSIONS, PRODUCE, answer
from tsproxy.proxy.metrics.registry import Metrics


class Shell(SimulatedProxy):
    """`name` is that of a configuration."""

    def __init__(self, seed: int, name: str) -> None:
        super().__init__(Draws(seed), name)
        self._links = 0

    @contextlib.contextmanager
    def open(self) -> Iterator["Shell"]:
        try:
            with self.patched():
                self.listener = self.made_listener(Metrics())
                self.listener.apply_facts(facts())
                self.listener.open()
                yield self
        finally:
            self.network.close()

    def connects(self, address: str) -> "Producer":
        producer = Producer(self, address, self.stream())
        self.loop.call_soon(self.ports[0].accepted, Incoming(producer), address, 50_000 + self._links)
        self.run_until(lambda: producer.link is not None)
        return producer

    def apply(self, **changed) -> None:
        self.listener.apply_facts(facts(**changed))

    def run_until(self, is_over) -> None:
        self.loop._steps = 0
        assert self.loop.run_until(is_over, self.loop.now_s + 60.0), (
            f"not after {TOO_MANY_STEPS} steps, or a minute"
        )

    def stream(self):
        self._links += 1
        return self.draws.stream(f"link {self._links}")

    def _dial(self, host: str, port: int):
        return Broker(self.stream()), 0.0, None


class End:
    """A peer of the proxy. It ends nothing itself."""

    def __init__(self, stream) -> None:
        self.network_stream = stream
        self.link: Link | None = None
        self._received = bytearray()

    def connected(self, link: Link) -> None:
        self.link = link

    def ended(self) -> None:
        self.link.far_closes()

    def broken(self) -> None:
        pass

    refused = lost = broken


class Producer(End):
    """A client connection. `answers` are the whole frames that it got."""

    def __init__(self, shell: Shell, address: str, stream) -> None:
        super().__init__(stream)
        self.answers: list[bytes] = []
        self.address = address
        self._shell = shell

    def asks(self, *frames: bytes) -> list[bytes]:
        """Sends these requests at once, and returns their answers."""
        self.answers.clear()
        self.link.far_sends(b"".join(frames))
        self._shell.run_until(lambda: len(self.answers) == len(frames))
        return list(self.answers)

    def closes(self) -> None:
        self.link.far_closes()
        self._shell.run_until(lambda: not self._shell.listener.relays)

    def received(self, data: bytes) -> None:
        self._received += data
        self.answers += cut_frames(self._received)


class Broker(End):
    """A broker's connection: each batch is accepted at once."""

    def received(self, data: bytes) -> None:
        self._received += data
        for frame in cut_frames(self._received):
            self.link.far_sends(self._answer(frame))

    @staticmethod
    def _answer(frame: bytes) -> bytes:
        api_key, version = int.from_bytes(frame[4:6], "big"), int.from_bytes(frame[6:8], "big")
        correlation_id = int.from_bytes(frame[8:12], "big")
        if api_key == API_VERSIONS:
            assert version >= 3
            offered = struct.pack(">hhhBhhhB", PRODUCE, 0, 13, 0, API_VERSIONS, 0, 4, 0)
            return answer(api_key, version, b"\x00\x00\x03" + offered + bytes(5), correlation_id)
        assert api_key == PRODUCE
        return stored(frame)
