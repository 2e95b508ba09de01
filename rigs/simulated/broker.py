"""The broker's end of one connection: it stores, answers in order, and fails where the seed says so."""

import struct

from rigs.simulated.draws import Draws
from rigs.simulated.history import LEAK, History, batches_of
from rigs.simulated.link import Link
from rigs.simulated.requests import Asked
from rigs.simulated.violations import ViolationError
from tests.session.messages import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    METADATA,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    accepted,
    answer,
    cut_frames,
    produced,
)
from tests.wire.fetched import current_leader, fetched, node_endpoints, partition, tags_of
from tsproxy.model.produce import NodeEndpoint

NODES = (1, 2)
LATE_NODE = 3
"""A broker that the proxy hears of when a client does."""

FAULTS = (
    "resets",
    "closes",
    "ends",
    "stops reading",
    "answers nothing",
    "answers garbage",
    "answers with a wrong correlation id",
)

ERROR_CODES = (3, 6, 7, 10, 19, 22, 32, 45)


IDLE_S = 600.0
"""A broker closes a connection that was silent for so long (`connections.max.idle.ms`)."""


class BrokerEnd:
    """`history` is that of the client whose requests come here."""

    def __init__(
        self, world, history: History, draws: Draws, attempt: int, *, is_silent: bool = False
    ) -> None:
        name = f"broker of client {history.number}" + (f", attempt {attempt}" if attempt else "")
        self.draws = draws.stream(name)
        self.network_stream = draws.stream(f"{name}: link")
        self.link: Link | None = None
        self._world = world
        self._history = history
        self._received = bytearray()
        self._unanswered: list[tuple[Asked, bytes]] = []
        self._to_send = bytearray()
        self._whole_at: list[tuple[int, Asked]] = []
        self._sent = 0
        self._is_sending = self._is_gone = self._names_late_node = False
        self._next_offset = history.number * 10_000
        fault, at = self.draws.choice(FAULTS), int(self.draws.random() ** 2 * 600)
        self._fault = fault if self.draws.has(0.25, f"{fault} after {at} bytes of answers") else None
        self._fault_at = at
        if is_silent:
            self._fault, self._fault_at = "answers nothing", 0

    # Its connection

    def dialled(self) -> tuple[float, Exception | None]:
        """How long connecting takes, and how it fails."""
        if self.draws.has(0.04, "refuses the connection"):
            return self.draws.soon(), ConnectionRefusedError(111, "Connection refused")
        if self.draws.has(0.02, "does not answer the connection"):
            return 3_600.0, None
        return self.draws.soon(), None

    def connected(self, link: Link) -> None:
        self.link = link
        self._world.loop.after(IDLE_S, self._closes)

    def received(self, data: bytes) -> None:
        self._received += data
        for frame in cut_frames(self._received):
            self._world.note(f"broker of {self._history.number} reads {len(frame)} bytes")
            self._takes(frame)
        self._later()

    def ended(self) -> None:
        """The proxy sends no more: a broker closes then, once it has answered."""
        if self._received and not self.link.was_forced:
            raise ViolationError("frame_cut_short", f"{len(self._received)} bytes at a clean end")
        self._closes()

    def broken(self) -> None:
        self._closes()

    def lost(self) -> None:
        pass

    # Requests

    def _takes(self, frame: bytes) -> None:
        one = self._history.forwarded(frame, self._world.enforced_since_s)
        if one.api_key == PRODUCE:
            said = self._stores(one, frame)
        else:
            said = answer(one.api_key, one.api_version, self._body(one), one.correlation_id)
        if one.wants_answer:
            self._unanswered.append((one, said))

    def _stores(self, one: Asked, frame: bytes) -> bytes:
        told, moved = {}, False
        places = one.batches if frame == one.frame else batches_of(frame)
        for topic, index in places:
            code = 0
            if self.draws.random() < 0.05:
                code = self.draws.choice(ERROR_CODES)
            moved |= code == 6
            self._next_offset += 1
            offset = -1 if code else self._next_offset
            self._history.stored[one.correlation_id, topic, index] = (code, offset)
            facts = {"error_code": code, "base_offset": -1} if code else accepted(offset)
            told.setdefault(topic, {})[index] = facts
        more = {}
        if moved and one.api_version >= 10:
            more["node_endpoints"] = (NodeEndpoint(self._any_node(), LEAK.decode(), 9_092, None),)
        return produced(told, one.api_version, one.correlation_id, **more)

    def _body(self, one: Asked) -> bytes:
        if one.api_key == METADATA:
            nodes = {*NODES, self._any_node()}
            return struct.pack(">i", len(nodes)) + b"".join(map(_node, sorted(nodes))) + bytes(4)
        if one.api_key == FIND_COORDINATOR:
            return b"\x00\x00" + _node(self._any_node())
        if one.api_key == SASL_HANDSHAKE:
            return struct.pack(">hi", 0, 0)
        if one.api_key == SASL_AUTHENTICATE:
            return struct.pack(">hhiq", self._authenticates(), -1, 0, 0)
        if one.api_key == API_VERSIONS:
            return struct.pack(">hi6h", 0, 2, PRODUCE, 0, 13, 77, 0, 99)
        if one.api_key == FETCH and one.api_version == 18:
            told = partition(b"records" * 50, tags=tags_of(current_leader(2, 5)))
            return fetched([told], tail=tags_of(node_endpoints((2, LEAK.decode(), 9_092))))
        return bytes(50) if one.api_key == FETCH else b"\x00\x00"

    def _authenticates(self) -> int:
        """The error code."""
        if self.draws.has(0.1, "rejects the login"):
            self._history.lose("login rejected")
            return 58
        self._history.has_login = True
        return 0

    def _any_node(self) -> int:
        if self.draws.has(0.04, f"names node {LATE_NODE}"):
            self._names_late_node = True
            return LATE_NODE
        return self.draws.choice(NODES)

    # Answers

    def _later(self) -> None:
        if not self._is_sending and not self._is_gone:
            self._is_sending = True
            self._world.loop.after(self.draws.soon(), self._sends)

    def _sends(self) -> None:
        self._is_sending = False
        if self._is_gone:
            return
        if not self._to_send and self._unanswered:
            self._prepare()
        room = len(self._to_send)
        if self._fault is not None:
            room = min(room, self._fault_at - self._sent)
        if room > 0:
            size = self.draws.piece(room)
            self._sent += size
            self.link.far_sends(bytes(self._to_send[:size]))
            del self._to_send[:size]
            self._note_written()
            self._later()
        elif self._fault is not None and self._sent >= self._fault_at:
            self._does(self._fault)

    def _prepare(self) -> None:
        """The next answers, one or all that are due."""
        count = self.draws.choice((1, len(self._unanswered)))
        for one, said in self._unanswered[:count]:
            self._to_send += said
            self._whole_at.append((self._sent + len(self._to_send), one))
        del self._unanswered[:count]

    def _note_written(self) -> None:
        while self._whole_at and self._whole_at[0][0] <= self._sent:
            self._history.written.append(self._whole_at.pop(0)[1])

    def _does(self, fault: str) -> None:
        self._fault = None
        self._history.lose(f"broker {fault}")
        self._world.note(f"broker of {self._history.number} {fault}")
        match fault:
            case "resets":
                self._is_gone = True
                self.link.far_resets()
            case "closes":
                self._closes()
            case "ends":
                self._is_gone = True
                self.link.far_ends()
            case "stops reading":
                self.link.far_stops_reading()
                self._later()
            case "answers nothing":
                self._is_gone = True
            case "answers garbage":
                self._history.broker_lies = self._is_gone = True
                self.link.far_sends(self.draws.randbytes(self.draws.randint(1, 200)))
            case "answers with a wrong correlation id":
                self._history.broker_lies = self._is_gone = True
                self.link.far_sends(answer(12, 0, b"\x00\x00", self.draws.randint(0, 5) * 1_000))

    def goes_while_read(self, correlation_id: int) -> None:
        """It is lost while the proxy reads its answer, which the client gets all the same. An answer that
        waits for a node goes with its broker."""
        if self._is_gone:
            return
        if not self._names_late_node:
            self._history.due_at_client = correlation_id
        self._does("resets")
        self.link.breaks()

    def _closes(self) -> None:
        self._is_gone = True
        if self.link is not None:
            self.link.far_closes()


def _node(node_id: int) -> bytes:
    return struct.pack(">ih", node_id, len(LEAK)) + LEAK + struct.pack(">i", 9_092)
