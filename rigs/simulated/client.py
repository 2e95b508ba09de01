"""One simulated client: it connects, asks, reads its answers, and goes, unless something happens first."""

import ssl
from random import Random

from rigs.simulated.broker import BrokerEnd
from rigs.simulated.coincidences import SHARE, Coincidence
from rigs.simulated.draws import Draws, Stream
from rigs.simulated.history import History
from rigs.simulated.link import Link
from rigs.simulated.network import Incoming
from rigs.simulated.requests import any_request, login
from rigs.simulated.violations import ViolationError
from tests.session.messages import cut_frames

PATIENCE_S = 100.0
"""Longer than all of the proxy's own time limits, except that for silence."""

HALF_CLOSED_S = 75.0
"""Longer than the proxy waits for its broker and for the answers of a client that sends no more, and then for
the client to read what was sent."""

LINGERS_S = 25.0
"""Longer than the proxy connects a broker and judges a request, once the client is gone."""

MAX_REQUESTS = 12

FAULTS = (
    "resets",
    "closes",
    "ends",
    "goes silent",
    "stops reading",
    "sends garbage",
    "stalls",
)


class Client:
    """`is_over` once nothing of it is left. `world` is told when that is so."""

    is_hostile = False

    def __init__(self, world, number: int, draws: Draws) -> None:
        self.is_over = False
        self.link: Link | None = None
        self.broker: BrokerEnd | None = None
        """The end of its last connection to a broker."""
        self.address = f"192.0.2.{number % 3}"
        self.port = 50_000 + number
        self.draws = draws.stream(f"client {number}")
        self.network_stream = draws.stream(f"client {number}'s link")
        self.history = self.made_history(number)
        self._world = world
        self._mix = self.draws.choice(("good", "good", "bad", "mixed", "mixed"))
        self._acks = self.draws.choice((-1, -1, -1, -1, 1, 1, 0))
        self._template = self.draws.getrandbits(32) if self.draws.random() < 0.4 else None
        """By this it asks the same again and again, as most producers do."""
        self._most_unanswered = self.draws.choice((1, 2, 5, MAX_REQUESTS))
        self._stream = self._script(number)
        self._sent = 0
        self._fault, self._fault_at = self._choose_fault()
        self.coincidence = self._choose_coincidence(draws.stream(f"client {number}'s coincidence"))
        self._is_sending = self._is_done = False
        self._received = bytearray()

    def made_history(self, number: int) -> History:
        return History(number, self.draws.choice(("app", "batch-job", "")) + str(number % 2))

    def _script(self, number: int) -> bytes:
        """All that it would send."""
        history = self.history
        if self._world.needs_sasl:
            history.principal = f"User:user{number}"
            history.asked += login(number * 1_000, history.client_id, f"user{number}")
            if self.draws.has(0.15, "does not wait for its login"):
                history.lose("client asks too early")
        self._logins = 0 if history.faults else len(history.asked)
        stream = bytearray()
        for one in history.asked:
            stream += one.frame
            one.ends_at = len(stream)
        for n in range(self.draws.randint(1, MAX_REQUESTS)):
            correlation_id = number * 1_000 + len(self.history.asked)
            draws = self.draws if self._template is None else Random(self._template)
            drawn = any_request(draws, correlation_id, self.history.client_id, self._mix, self._acks)
            if self.draws.has(1.0, f"asks {n}: {drawn}"):
                stream += drawn.frame
                drawn.ends_at = len(stream)
                self.history.asked.append(drawn)
        return bytes(stream)

    def _choose_fault(self) -> tuple[str | None, int]:
        fault, at = self.draws.choice(FAULTS), self.draws.randint(0, len(self._stream))
        if fault == "ends" and self.draws.random() < 0.7:
            at = len(self._stream)
        if not self.draws.has(0.4, f"{fault} after {at} bytes"):
            return None, len(self._stream)
        if fault != "ends" or at < len(self._stream) or self._world.client_tls:
            self.history.lose(f"client {fault}")
        return fault, at

    def _choose_coincidence(self, draws: Stream) -> Coincidence | None:
        """Not for a hostile client, nor for one that has a fault of its own."""
        chosen = draws.choice(self._world.coincidences)
        if self.is_hostile or self._fault is not None or not draws.has(SHARE, chosen.value):
            return None
        if chosen is Coincidence.CLIENT_ENDS_UNANSWERED:
            if self._world.client_tls:
                return None  # no connection is half-closed there
            self._fault, self._fault_at = "ends", len(self._stream)
        self._most_unanswered = MAX_REQUESTS
        return chosen

    def is_made_to(self, fault: str) -> None:
        """The fault happens now, once."""
        self.coincidence = None
        if not self._is_done and self.link is not None:
            self.history.lose(f"client {fault}")
            self._does(fault)

    def judging_begins(self) -> None:
        """A thread has begun to judge its request."""
        if self.coincidence is Coincidence.CLIENT_GOES_WHILE_JUDGED:
            self.coincidence = None
            self._world.loop.after(self.network_stream.soon(), self._is_lost_now)

    def _is_lost_now(self) -> None:
        """The proxy does not read from it, and is told nevertheless: by a write that fails, or by TLS."""
        if not self._is_done:
            self.is_made_to("resets")
            self.link.breaks()

    def reading_begins(self, correlation_id: int) -> None:
        """A thread has begun to read the answer to this request."""
        if self.coincidence is Coincidence.BROKER_GOES_WHILE_READ and self.broker is not None:
            self.coincidence = None
            self.broker.goes_while_read(correlation_id)

    # Its connection

    def dials(self) -> None:
        accepted = self._world.find_port(self.draws)
        if accepted is None:
            self._finish()
        else:
            self._world.loop.after(PATIENCE_S, self._gives_up)
            accepted(Incoming(self), self.address, self.port)

    def handshake(self) -> tuple[float, Exception | None]:
        """How long its TLS handshake takes, and how it fails."""
        error, delay_s = None, self.draws.soon()
        if self.draws.has(0.05, "TLS handshake fails"):
            error = self.draws.choice(
                (ConnectionResetError(104, "reset"), ssl.SSLError(1, "no shared cipher"))
            )
        elif self.draws.has(0.03, "TLS handshake takes too long"):
            error, delay_s = ConnectionAbortedError("SSL handshake is taking longer than 10 seconds"), 10.0
        if error is not None:
            self.history.lose("no TLS")
        return delay_s, error

    def connected(self, link: Link) -> None:
        self.link = link
        for _ in range(self.draws.choice((0, 0, 1, 8))):  # before it was accepted
            self._sends()
        self._later(self._sends)
        if self.coincidence is Coincidence.CLIENT_GOES_WHILE_CONNECTING:
            self._world.loop.after(self.network_stream.soon(), lambda: self.is_made_to("resets"))

    def received(self, data: bytes) -> None:
        self._received += data
        for frame in cut_frames(self._received):
            self._world.note(f"client {self.history.number} reads {len(frame)} bytes")
            self.history.received(frame)
        self._later(self._sends)

    def ended(self) -> None:
        """The proxy sends no more."""
        self.history.cut_short = bool(self._received) and not self.link.was_forced
        self._closes()

    def broken(self) -> None:
        if not (self.history.faults or self._world.may_cut or self._world.client_tls):
            raise ViolationError("reset_by_proxy", f"client {self.history.number}")
        self._closes()

    def _finds_nothing_left(self) -> None:
        """The request that was judged has long been forwarded. A relay that only flushes may stay."""
        relays = [one for one in self._world.listener.relays if one.peer.client_port == self.port]
        if any(relay.is_owed_answers for relay in relays):
            raise ViolationError("lingers", f"client {self.history.number} is gone for {LINGERS_S:.0f} s")

    def refused(self) -> None:
        """The proxy has not taken the connection."""
        self._closes()

    def lost(self) -> None:
        """The proxy's end is gone."""
        self.history.client_is_lost(self.link.consumed)
        self._world.loop.after(LINGERS_S, self._finds_nothing_left)
        if self._is_done:
            self._finish()

    # Sending

    def _later(self, step) -> None:
        if not self._is_sending and not self._is_done:
            self._is_sending = True
            self._world.loop.after(self.draws.soon(), step)

    def _sends(self) -> None:
        self._is_sending = False
        if self._is_done or self.link is None:
            return
        room = min(self._allowed(), self._fault_at) - self._sent
        if room > 0:
            size = self.draws.piece(room)
            self._mark_sent(self._sent + size)
            self.link.far_sends(self._stream[self._sent : self._sent + size])
            self._sent += size
            self._later(self._sends)
        elif self._fault is not None and self._sent == self._fault_at:
            self._does(self._fault)
        elif self._sent == len(self._stream) and len(self.history.answered) == len(self.history.expected):
            self._leaves()

    def _allowed(self) -> int:
        """Up to which byte it may send, with so many requests unanswered."""
        asked, answered = self.history.asked, len(self.history.answered)
        if answered < self._logins:
            return asked[answered].ends_at
        waiting = 0
        for one in asked:
            waiting += one.wants_answer
            if waiting > answered + self._most_unanswered:
                return one.ends_at - len(one.frame)
        return len(self._stream)

    def _mark_sent(self, until: int) -> None:
        for one in self.history.asked:
            if one.sent_s is None and one.ends_at - len(one.frame) < until:
                one.sent_s = self._world.loop.now_s

    def _does(self, fault: str) -> None:
        self._fault = None
        self._world.note(f"client {self.history.number} {fault}")
        match fault:
            case "resets":
                self._is_done = True
                self.link.far_resets()
                self._finish_if_lost()
            case "closes":
                self._closes()
            case "ends":
                self._ends()
                self._fault_at = -1
            case "goes silent":
                self.link.far_stops_reading()
                self._fault_at = -1
            case "stops reading":
                self.link.far_stops_reading()
                self._fault_at = len(self._stream)
                self._later(self._sends)
            case "sends garbage":
                self._damage()
                self.link.far_sends(self.draws.randbytes(self.draws.randint(1, 200)))
                self._fault_at = -1
            case "stalls":
                self._fault_at = -1

    def _damage(self) -> None:
        for one in self.history.asked:
            one.is_damaged = one.ends_at > self._sent

    # Its end

    def _leaves(self) -> None:
        if self.draws.random() < 0.3 and not self._world.client_tls:
            self._ends()
        else:
            self._closes()

    def _ends(self) -> None:
        self.link.far_ends()
        self._world.loop.after(HALF_CLOSED_S, self._finds_its_end)

    def _finds_its_end(self) -> None:
        """A client that sends no more does not wait for ever, once the proxy has read so far."""
        if self.link.end_has_arrived and not self.link.times_lost:
            raise ViolationError("half_closed_for_ever", f"client {self.history.number}")

    def _gives_up(self) -> None:
        if not self._is_done:
            self.history.gave_up = True
            self._closes()

    def _closes(self) -> None:
        if self._is_done:
            return
        self._is_done = True
        if self.link is None:
            self._finish()
        else:
            self.link.far_closes()
            self._finish_if_lost()

    def _finish_if_lost(self) -> None:
        if self.link is not None and self.link.times_lost:
            self._finish()

    def _finish(self) -> None:
        if not self.is_over:
            self.is_over = self._is_done = True
            self._world.one_over()
