"""A session's answers: each meets the slot at the head of the queue, which says what becomes of it.

Most stream through, whatever their size. Those that are read are held until they are whole; one that
names a node which the proxy does not serve (yet) waits until it does, and all behind it wait as well.
"""

from tsproxy.model.kafka import ApiKey
from tsproxy.model.view import Endpoint
from tsproxy.session import produce_answer
from tsproxy.session.effects import CloseReason, EmitTotals, HoldBroker, NodeWanted, ReleaseBroker
from tsproxy.session.sasl import SaslFailure
from tsproxy.session.slots import (
    BookProduce,
    Held,
    Local,
    MaskConfigs,
    NarrowVersions,
    Relay,
    RewriteAddresses,
    Slot,
    WatchHandshake,
    WatchRawToken,
    WatchToken,
)
from tsproxy.session.state import State
from tsproxy.session.warnings import sasl_failed
from tsproxy.wire import addresses, k17_k36_sasl, k18_api_versions, k32_describe_configs
from tsproxy.wire.answers import AnswerStream
from tsproxy.wire.headers import frame, response_body_start
from tsproxy.wire.primitives import DecodeError


class _EndpointUnknownError(Exception):
    """An answer names a node that we do not listen for."""

    def __init__(self, node_id: int, host: str, port: int) -> None:
        self.wanted = NodeWanted(node_id, host, port)


class Answers:
    def __init__(self, state: State) -> None:
        self._state = state
        self._stream = AnswerStream(state.slots)
        self._waiting: tuple[Held, bytes] | None = None
        self._wanted: NodeWanted | None = None

    @property
    def waits(self) -> bool:
        """True while an answer waits for a node to be served."""
        return self._waiting is not None

    @property
    def buffered(self) -> int:
        """Bytes received and not taken yet."""
        return self._stream.buffered + (len(self._waiting[1]) if self._waiting else 0)

    def feed(self, data: bytes) -> None:
        self._stream.feed(data)

    def take(self) -> None:
        """Take as much as has come."""
        state = self._state
        try:
            while not state.is_closed and self._take_step():
                pass
        except DecodeError as error:
            state.close(CloseReason.BAD_ANSWER, f"an answer of the broker could not be read: {error}")
        if state.passing is not None:
            state.effects += map(EmitTotals, state.passing.settled())

    def give_up(self) -> None:
        """Nobody serves the node that an answer waits for: it never reaches the client."""
        if self._wanted is not None:
            text = f"an answer named node {self._wanted.node_id}, which has no listener"
            self._state.close(CloseReason.ADDRESS_UNMAPPED, text)

    def _take_step(self) -> bool:
        """Take one step with the broker's bytes; False where more must come first."""
        state, stream = self._state, self._stream
        if self._waiting is not None:
            return self._pass_on(*self._waiting)
        if stream.is_streaming:
            data, has_ended = stream.passing()
            state.send_to_client(data)
            if has_ended:
                state.answered()
            return has_ended
        if state.passing is not None and (run := state.passing.answers(stream)):
            state.send_to_client(run)
            state.send_local_answers()
            return True
        if stream.size() is None:
            return False
        slot: Slot | None = state.slots.head()
        if slot is None:
            raise DecodeError("nothing was asked")
        assert not isinstance(slot, Local), "local answers leave the queue as soon as they head it"
        if not isinstance(slot, WatchRawToken):
            correlation_id = stream.correlation_id()
            if correlation_id is None:
                return False
            if correlation_id != slot.correlation_id:
                raise DecodeError(f"correlation id {correlation_id} where {slot.correlation_id} is due")
        if isinstance(slot, Relay):
            stream.stream()
            return True
        payload = stream.whole(state.view.limits.share_answer)
        if payload is None:
            return False
        return self._pass_on(slot, payload)

    def _pass_on(self, slot: Held, payload: bytes) -> bool:
        """Send on what a held answer becomes; False where it names a node that is not served."""
        state = self._state
        try:
            answer = self._held(slot, payload)
        except _EndpointUnknownError as error:
            if self._waiting is None:
                state.effects.append(HoldBroker())
            if self._wanted != error.wanted:
                state.effects.append(error.wanted)
            self._waiting, self._wanted = (slot, payload), error.wanted
            return False
        if self._waiting is not None:
            self._waiting = self._wanted = None
            state.effects.append(ReleaseBroker())
        state.send_to_client(answer)
        state.answered()
        return True

    def _held(self, slot: Held, payload: bytes) -> bytes:
        """The frame for the client, made of the broker's whole answer."""
        state = self._state
        match slot:
            case BookProduce():
                answer, booked = produce_answer.settle(slot.ruling, payload, self._endpoint_of)
                state.stream_times.answered(slot.ruling, booked)
                state.emit(booked)
                return answer
            case RewriteAddresses():
                start = response_body_start(slot.api_key, slot.api_version, payload)
                body = memoryview(payload)[start:]
                rewritten = addresses.rewrite(slot.api_key, slot.api_version, body, self._endpoint_of)
                return frame(payload[:start] + rewritten)
            case MaskConfigs():
                start = response_body_start(ApiKey.DESCRIBE_CONFIGS, slot.api_version, payload)
                body = memoryview(payload)[start:]
                return frame(payload[:start] + k32_describe_configs.mask_addresses(slot.api_version, body))
            case NarrowVersions():
                start = response_body_start(ApiKey.API_VERSIONS, slot.api_version, payload)
                return frame(
                    payload[:start] + k18_api_versions.narrow_response(slot.api_version, payload[start:])
                )
            case WatchHandshake():
                start = response_body_start(ApiKey.SASL_HANDSHAKE, 0, payload)
                error_code = k17_k36_sasl.read_handshake_response(payload[start:])
                self._tell(state.sasl.handshake_answered(error_code))
            case WatchToken():
                start = response_body_start(ApiKey.SASL_AUTHENTICATE, slot.api_version, payload)
                read = k17_k36_sasl.read_authenticate_response(slot.api_version, payload[start:])
                self._tell(state.sasl.token_answered(*read))
                state.forget_what_passes()  # the principal may be another one
            case WatchRawToken():
                self._tell(state.sasl.token_answered(0, payload))
                state.forget_what_passes()
        return frame(payload)

    def _tell(self, failure: SaslFailure | None) -> None:
        if failure is not None:
            self._state.effects.append(sasl_failed(failure))

    def _endpoint_of(self, node_id: int, host: str, port: int) -> Endpoint:
        view, told = self._state.view, Endpoint(host, port)
        endpoint = view.endpoints.get(node_id)
        if endpoint is None:
            raise _EndpointUnknownError(node_id, host, port)
        if view.brokers.get(node_id, told) != told:  # it has moved: its port must lead there
            self._state.effects.append(NodeWanted(node_id, host, port))
        return endpoint
