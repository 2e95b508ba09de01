"""The product's listener on a simulated loop, clock and network: `SimulatedProxy`."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from rigs.simulated.changes import config
from rigs.simulated.draws import Draws
from rigs.simulated.judges import SimulatedJudges
from rigs.simulated.loop import SimulatedClock, SimulatedLoop
from rigs.simulated.network import Network
from tests.session.conversation import NOW_MS
from tsproxy.cluster.upstream import Upstream
from tsproxy.log_events import catalogue as log_event
from tsproxy.proxy.connections import listener as listener_module
from tsproxy.proxy.connections.context import ConnectionContext
from tsproxy.proxy.connections.listener import ProxyListener
from tsproxy.proxy.limits.process import ProcessLimits
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.notes import Notes


@dataclass
class _Log:
    """The lines of the operators' log."""

    lines: list[dict[str, Any]] = field(default_factory=list)

    def warning(self, event: str, **facts: object) -> None:
        self.lines.append({"event": event, **facts})

    debug = info = error = warning


class _Port:
    """A listening port of the proxy, as `tsproxy.proxy.ports.Port`."""

    def __init__(self, address, accepted) -> None:
        self.address = address
        self.accepted = accepted
        self.is_open = False

    def open(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


class SimulatedProxy:
    """One listener with the configuration of that name (`rigs.simulated.changes`).

    A subclass says with `_dial` who answers where the proxy connects to.
    """

    def __init__(self, draws: Draws, name: str) -> None:
        self.draws = draws
        self.ports: list[_Port] = []
        self.settings = config(name)
        self.loop = SimulatedLoop(draws.stream("timers"))
        self.clock = SimulatedClock(self.loop, NOW_MS)
        self.network = Network(self.loop, self._dial, self.note)
        self.judges = SimulatedJudges(self.loop, draws.stream("judges"))
        self.limits = ProcessLimits(self.settings.connection_limits, self.clock)
        self._log = _Log()

    def note(self, text: str) -> None:
        """Something has happened."""

    def made_listener(
        self,
        metrics: Metrics,
        *,
        book=lambda _: None,
        want_topic=lambda *_: None,
        want_node=lambda *_: None,
        certificate=None,
        broker_tls=None,
    ) -> ProxyListener:
        context = ConnectionContext(
            self.clock,
            metrics,
            Notes(self._log, self.clock),
            book,
            lambda _: None,
            want_topic,
            want_node,
            self.limits,
            judges=self.judges,
            decoders=None,
        )
        return ProxyListener(
            self.settings.listeners[0], self.settings, certificate, Upstream(broker_tls), context
        )

    @contextlib.contextmanager
    def patched(self, *more: tuple[object, str, object]) -> Iterator[None]:
        """Ports and log of this proxy, and `more`: (module, name, value)."""
        wanted = ((listener_module, "Port", self._bind), (log_event, "_log", self._log), *more)
        with contextlib.ExitStack() as stack:
            for module, name, value in wanted:
                stack.enter_context(patch.object(module, name, value))
            yield

    def _bind(self, address, accepted, *, is_shared=False) -> _Port:
        self.ports.append(port := _Port(address, accepted))
        return port
