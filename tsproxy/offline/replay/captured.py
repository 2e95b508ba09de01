"""`Captured`: applies all rules to captured traffic, packet by packet.

A client is a TCP connection. Its client id and library come from its own requests, as in the proxy. The
requests do not hold the authenticated user, so rules for principals do not match here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tsproxy.model.kafka import ApiKey
from tsproxy.model.outcome import Outcome, Peer
from tsproxy.model.view import View
from tsproxy.offline.replay.capture import Packet
from tsproxy.offline.replay.packets import Endpoint, segment_of
from tsproxy.offline.replay.streams import RequestStream
from tsproxy.session.policies import Policies
from tsproxy.session.produce import outcomes
from tsproxy.session.produce.judge_request import judge_request
from tsproxy.session.stream_times import SentTimes, StreamTimes
from tsproxy.wire import k00_produce, k18_api_versions
from tsproxy.wire.apis import request_is_understood
from tsproxy.wire.frames import SIZE_BYTES
from tsproxy.wire.headers import RequestHeader, read_request_header
from tsproxy.wire.primitives import DecodeError

LISTENER = "capture"


@dataclass(slots=True)
class _Connection:
    stream: RequestStream
    policies: Policies


@dataclass(slots=True)
class Captured:
    """Applies all rules to captured traffic. `ports` are the ports of brokers. The counts say how much was
    read."""

    view: View
    ports: frozenset[int]
    packets: int = 0
    requests: int = 0
    unreadable: int = 0
    """Produce requests that do not match their layout."""
    first_ms: int | None = None
    last_ms: int | None = None
    _stream_times: StreamTimes = field(default_factory=StreamTimes)
    _connections: dict[tuple[Endpoint, Endpoint], _Connection] = field(default_factory=dict)

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def holes(self) -> int:
        return sum(each.stream.holes for each in self._connections.values())

    @property
    def lost_bytes(self) -> int:
        return sum(each.stream.lost_bytes for each in self._connections.values())

    def outcomes(self, packets: Iterable[Packet]) -> Iterator[Outcome]:
        """The outcome of each captured batch. Raises the errors of reading packets."""
        for packet in packets:
            self.packets += 1
            segment = segment_of(packet)
            if segment is None or segment.destination[1] not in self.ports:
                continue
            self.first_ms = segment.at_ms if self.first_ms is None else self.first_ms
            self.last_ms = segment.at_ms
            connection = self._connection(segment.source, segment.destination)
            for frame, at_ms in connection.stream.take(segment):
                yield from self._request(connection, frame, at_ms)
        for connection in self._connections.values():
            for frame, at_ms in connection.stream.end():
                yield from self._request(connection, frame, at_ms)

    def _connection(self, client: Endpoint, broker: Endpoint) -> _Connection:
        known = self._connections.get((client, broker))
        if known is None:
            stream = RequestStream(self.view.limits.produce_frame)
            known = _Connection(stream, Policies(Peer(LISTENER, *client), self.view))
            self._connections[client, broker] = known
        return known

    def _request(self, connection: _Connection, frame: bytes, at_ms: int) -> Iterator[Outcome]:
        payload = memoryview(frame)[SIZE_BYTES:]
        try:
            header = read_request_header(payload)
            if not request_is_understood(header.api_key, header.api_version):
                return
            self.requests += 1
            self._learn(connection, header, payload)
            if header.api_key != ApiKey.PRODUCE:
                return
            request = k00_produce.read_request(header.api_version, payload[header.body_start :])
        except DecodeError:
            self.unreadable += 1
            return
        stream_times = SentTimes(self._stream_times).known(request, connection.policies, at_ms)
        verdicts = judge_request(
            header, request, frame, connection.policies, now_ms=at_ms, stream_times=stream_times
        )
        self._stream_times.take(verdicts)  # as if brokers had accepted it, since their answers are not read
        yield from outcomes.of_rejections(verdicts)
        yield from outcomes.unconfirmed(verdicts)

    def _learn(self, connection: _Connection, header: RequestHeader, payload: memoryview) -> None:
        """Update the client's facts from this request."""
        peer = replace(connection.policies.peer, client_id=header.client_id)
        if header.api_key == ApiKey.API_VERSIONS:
            body = payload[header.body_start :]
            software = k18_api_versions.read_client_software(header.api_version, body)
            peer = replace(peer, client_software=software or peer.client_software)
        if peer != connection.policies.peer:
            connection.policies = Policies(peer, self.view)
