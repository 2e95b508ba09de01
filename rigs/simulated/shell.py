"""The product's listener, relays and sessions, between producers and brokers of a test: `Shell`.

A world makes everything up by its seed. Here the test says what is sent, and the seed only cuts it into
reads. The brokers accept every batch that reaches them, as brokers without limits of their own do.
"""

import contextlib
import struct
from collections.abc import Iterator

from rigs.simulated.changes import config, facts
from rigs.simulated.draws import Draws
from rigs.simulated.history import batches_of
from rigs.simulated.judges import SimulatedJudges
from rigs.simulated.link import Link
from rigs.simulated.loop import TOO_MANY_STEPS, SimulatedClock, SimulatedLoop
from rigs.simulated.network import Incoming, Network
from rigs.simulated.requests import cut_frames
from rigs.simulated.world import _Log, _Port
from tests.session.conversation import NOW_MS
from tests.session.messages import API_VERSIONS, PRODUCE, accepted, answer, produced
from tsproxy.cluster.upstream import Upstream
from tsproxy.log_events import catalogue as log_event
from tsproxy.proxy.connections import listener as listener_module
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.listener import ProxyListener
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.notes import Notes


class Shell:
    """One listener with the configuration of that name (`rigs.simulated.changes`)."""

    def __init__(self, seed: int, name: str) -> None:
        self.draws = Draws(seed)
        self.loop = SimulatedLoop(self.draws.stream("timers"))
        self.clock = SimulatedClock(self.loop, NOW_MS)
        self.network = Network(self.loop, self._dial, lambda _: None)
        self._ports: list[_Port] = []
        self._links = 0
        self._settings, self._log = config(name), _Log()

    @contextlib.contextmanager
    def open(self) -> Iterator["Shell"]:
        port, log = listener_module.Port, log_event._log
        listener_module.Port, log_event._log = self._bind, self._log
        try:
            self.listener = self._made_listener()
            self.listener.apply_facts(facts())
            self.listener.open()
            yield self
        finally:
            listener_module.Port, log_event._log = port, log
            self.network.close()

    def connects(self, address: str) -> "Producer":
        producer = Producer(self, address, self.stream())
        self.loop.call_soon(self._ports[0].accepted, Incoming(producer), address, 50_000 + self._links)
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

    def _bind(self, address, accepted, *, is_shared=False) -> _Port:
        port = _Port(address, accepted, is_shared=is_shared)
        self._ports.append(port)
        return port

    def _made_listener(self) -> ProxyListener:
        context = ConnectionContext(
            self.clock,
            Metrics(),
            Notes(self._log, self.clock),
            lambda _: None,
            lambda _: None,
            lambda _: None,
            lambda *_: None,
            ProcessLimits(self._settings.connection_limits, self.clock),
            judges=SimulatedJudges(self.loop, self.draws.stream("judges")),
            decoders=None,
        )
        return ProxyListener(self._settings.listeners[0], self._settings, None, Upstream(None), context)


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
        told = {}
        for topic, index in batches_of(frame):
            told.setdefault(topic, {})[index] = accepted()
        return produced(told, version, correlation_id)
