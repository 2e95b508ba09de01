"""A session's requests: cut into frames, looked up in the table of routes, forwarded or answered here.

Frames that the fast path may forward are sent in one run. Each other request that expects an answer gets a
slot in the queue. The slot says what is done with the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.model.names import NAME_CHARS
from tsproxy.model.outcome import OldRequest
from tsproxy.model.view import SessionLimits
from tsproxy.session.budget import DecompressionBudget, Request
from tsproxy.session.effects import CloseReason, NoteOld, PauseClient, ResumeClient
from tsproxy.session.fast_path import relayed_but
from tsproxy.session.produce.flow import ProduceFlow
from tsproxy.session.sasl import NEVER_ENDS_BY_RAW_TOKENS
from tsproxy.session.slots import (
    BlankNodes,
    MaskAddresses,
    NarrowVersions,
    PassThrough,
    RewriteAddresses,
    WatchHandshake,
    WatchRawToken,
    WatchToken,
    WatchTopics,
)
from tsproxy.session.state import State
from tsproxy.session.states import Cause, SessionState
from tsproxy.session.topic_names import newest_offered
from tsproxy.wire import addresses, k01_k78_fetch, k17_k36_sasl, k18_api_versions
from tsproxy.wire.apis import APIS, is_refused_by_kafka_4, request_is_understood
from tsproxy.wire.changed_topics import CHANGES
from tsproxy.wire.frames import (
    SIZE_BYTES,
    ApiNotAllowedError,
    FrameTooLargeError,
    NotKafkaError,
    RequestFrames,
)
from tsproxy.wire.headers import RequestHeader, frame, read_request_header, response_header
from tsproxy.wire.masking import MASKED
from tsproxy.wire.primitives import DecodeError

MAX_WAITING_BYTES: Final = 1 << 20
AGAIN_MS: Final = 60_000
MAX_NOTED: Final = 32
"""So many different requests of one connection are noted within AGAIN_MS. A client uses some ten APIs."""
_API: Final = {api_key: api.name for api_key, api in APIS.items()}


class OldVersions:
    """The requests in versions that Kafka 4 does not take (KIP-896). Each client id, API and version is noted
    once in AGAIN_MS."""

    __slots__ = ("_noted", "_until_ms")

    def __init__(self) -> None:
        self._noted: set[int] = set()
        """Hashes: a client id may have 32 KiB, and nobody counts what is kept here."""
        self._until_ms = 0

    def must_note(self, header: RequestHeader, now_ms: int) -> bool:
        """True if Kafka 4 does not take the request, and the like of it was not noted lately. It counts as
        noted from now on."""
        if not is_refused_by_kafka_4(header.api_key, header.api_version):
            return False
        if not self._until_ms - AGAIN_MS <= now_ms < self._until_ms:
            self._noted.clear()
            self._until_ms = now_ms + AGAIN_MS
        use = hash((header.client_id, header.api_key, header.api_version))
        if use in self._noted or len(self._noted) >= MAX_NOTED:
            return False
        self._noted.add(use)
        return True


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The request that a session has taken last: the name of its API, its size in bytes, and the rule for its
    first batch if it was judged."""

    api: str = "none"
    size: int = 0
    rule: str | None = None


class Requests:
    """The requests of one session. `limits` bound the frames until the session ends."""

    def __init__(self, state: State, produce: ProduceFlow, limits: SessionLimits) -> None:
        self._state = state
        self._produce = produce
        self.frames = RequestFrames(limits.produce_frame, limits.other_frame)
        self.is_paused = False
        self._last = -1, 0
        self._budget: DecompressionBudget | None = None
        self._old_versions = OldVersions()

    @property
    def last(self) -> LastRequest:
        api_key, size = self._last
        return LastRequest(_API[api_key], size, self._produce.last_rule) if api_key in _API else LastRequest()

    def feed(self, data: bytes) -> None:
        """Add one read of the client. The fast path may have spent some of its budget."""
        self.frames.feed(data)
        self._budget = None

    def take(self, now_ms: int) -> None:
        """Take all requests that are whole and may be taken now."""
        state, budget = self._state, self._budget
        if budget is None or not budget.has_refused:
            budget = DecompressionBudget() if state.fast_path is None else state.fast_path.take_budget()
            self._budget = budget
        self._produce.read_begins()
        has_repeated = False
        try:
            while not state.is_closed and not self.must_wait():
                is_raw = state.current is SessionState.RAW_TOKEN
                if not is_raw and self._forward_some(now_ms, budget):
                    continue
                # One run of rejections before each request that the session takes: the runs are bounded.
                has_repeated = not is_raw and not has_repeated and self._repeat_rejections(now_ms)
                if has_repeated:
                    continue
                only = None if state.sasl.is_accepted else _BEFORE_SASL
                received = self.frames.next_frame(is_raw, only)
                if received is None:
                    break
                if is_raw:
                    self._raw_token(received)
                else:
                    header = read_request_header(memoryview(received)[SIZE_BYTES:])
                    self._last, self._produce.last_rule = (header.api_key, len(received)), None
                    self._take(Request(received, header, now_ms, now_ms, budget))
        except NotKafkaError as error:
            state.reject(CloseReason.NOT_KAFKA, str(error))
        except ApiNotAllowedError as error:
            name = APIS[error.api_key].name if error.api_key in APIS else "an unknown API"
            state.reject(CloseReason.UNSUPPORTED_REQUEST, f"{name} before authentication")
        except FrameTooLargeError as error:
            state.reject(CloseReason.FRAME_TOO_LARGE, str(error))
        except DecodeError as error:
            # Before the peer is accepted, an unreadable frame may be a token: none of its numbers is logged.
            may_be_logged = state.sasl.is_accepted or state.sasl.takes_raw_tokens
            text = str(error) if may_be_logged else "not a request, before authentication"
            state.reject(CloseReason.BAD_FRAME, text)
        self._pause_or_resume()

    def _forward_some(self, now_ms: int, budget: DecompressionBudget) -> bool:
        """Let the fast path forward the next requests. True if it forwarded any."""
        state = self._state
        if state.fast_path is None or not state.sasl.is_accepted:
            return False
        most = state.view.limits.in_flight_requests - len(state.slots)
        run = state.fast_path.next_requests(self.frames, most, now_ms, budget)
        if run:
            state.send_to_broker(run)
        return bool(run)

    def _repeat_rejections(self, now_ms: int) -> bool:
        """Let the fast path reject the next requests. True if it rejected any."""
        state = self._state
        if state.fast_path is None or not state.sasl.is_accepted:
            return False
        answers, throttle_ms = state.fast_path.next_rejections(self.frames, now_ms)
        if throttle_ms:
            state.mute_client(throttle_ms)
        if answers:
            state.send_to_client(answers)
        return bool(answers)

    def must_wait(self) -> bool:
        """True if the state forbids the next request, too many requests are in flight, or many bytes of our
        own answers wait for the broker's. The bytes are bounded because a small request may have a large
        answer."""
        state = self._state
        return (
            not state.current.takes_requests
            or state.waiting_bytes >= MAX_WAITING_BYTES
            or len(state.slots) >= state.view.limits.in_flight_requests
        )

    def _pause_or_resume(self) -> None:
        must_wait = self.must_wait()
        if must_wait != self.is_paused and not self._state.is_closed:
            self.is_paused = must_wait
            self._state.effects.append(PauseClient() if must_wait else ResumeClient())

    def _take(self, request: Request) -> None:
        state, header = self._state, request.header
        if state.sasl.is_accepted:
            state.client_id = header.client_id and header.client_id[:NAME_CHARS]
        if self._old_versions.must_note(header, request.now_ms):
            peer = replace(state.peer, client_id=header.client_id, principal=state.sasl.principal)
            old = OldRequest(peer, APIS[header.api_key].name, header.api_version)
            state.effects.append(NoteOld(old))
        is_understood = request_is_understood(header.api_key, header.api_version)
        if header.api_key == ApiKey.API_VERSIONS and not is_understood:
            state.answer_locally(
                frame(
                    response_header(ApiKey.API_VERSIONS, 0, header.correlation_id)
                    + k18_api_versions.unsupported_version_response()
                )
            )
        elif not is_understood:
            state.reject(
                CloseReason.UNSUPPORTED_REQUEST,
                f"API key {header.api_key} version {header.api_version} was never offered",
            )
        elif (read := _READ.get(header.api_key)) is not None:
            read(self, request)
        elif header.api_key in addresses.LAYOUTS:
            slot = RewriteAddresses(header.correlation_id, header.api_key, header.api_version)
            state.forward(request.frame, slot)
        elif (layout := k01_k78_fetch.layout_of(header.api_key, header.api_version)) is not None:
            state.forward(request.frame, BlankNodes(header.correlation_id, layout))
        else:
            state.forward(request.frame, PassThrough(header.correlation_id))

    def _take_produce(self, request: Request) -> None:
        """A version that the broker does not take, or that the proxy does not offer, closes the session as
        brokers do, before the request is judged: no broker gets a request that is answered here."""
        version, (oldest, newest) = request.header.api_version, self._state.produce_versions
        if oldest <= version <= newest:
            self._produce.take(request)
        else:
            text = f"Produce version {version}, where the broker takes {oldest} to {newest}"
            self._state.reject(CloseReason.UNSUPPORTED_REQUEST, text)

    def _api_versions(self, request: Request) -> None:
        state, header = self._state, request.header
        software = k18_api_versions.read_client_software(header.api_version, request.body)
        if software is not None:
            state.peer = replace(state.peer, client_software=software)
            state.forget_fast_path()
        newest = newest_offered(state.view, names_only=state.peer.client_address in state.names_only)
        state.forward(request.frame, NarrowVersions(header.correlation_id, header.api_version, newest))

    def _mask_addresses(self, request: Request) -> None:
        state, header = self._state, request.header
        api_key, version = header.api_key, header.api_version
        masking = MASKED[api_key]
        if state.view.masks_addresses and masking.answer_may_contain_addresses(version, request.body):
            state.forward(request.frame, MaskAddresses(header.correlation_id, api_key, version))
        elif api_key in CHANGES:
            self._watch_topics(request)
        else:
            state.forward(request.frame, PassThrough(header.correlation_id))

    def _watch_topics(self, request: Request) -> None:
        header = request.header
        slot = WatchTopics(header.correlation_id, header.api_key, header.api_version)
        self._state.forward(request.frame, slot)

    def _sasl_handshake(self, request: Request) -> None:
        state, header = self._state, request.header
        mechanism = k17_k36_sasl.read_handshake_request(request.body)
        if header.api_version == 0 and mechanism in NEVER_ENDS_BY_RAW_TOKENS:
            advice = "use a client that sends SaslAuthenticate (Kafka 1.0)"
            text = f"{mechanism} by SaslHandshake version 0: {advice}"
            state.reject(CloseReason.UNSUPPORTED_REQUEST, text)
            return
        state.sasl.handshake_sent(header.api_version, mechanism)
        self._forward_sasl(request.frame, WatchHandshake(header.correlation_id))

    def _sasl_authenticate(self, request: Request) -> None:
        state, header = self._state, request.header
        state.sasl.token_sent(k17_k36_sasl.read_authenticate_request(header.api_version, request.body))
        self._forward_sasl(request.frame, WatchToken(header.correlation_id, header.api_version))

    def _raw_token(self, token: bytes) -> None:
        self._state.sasl.token_sent(token[SIZE_BYTES:])
        self._forward_sasl(token, WatchRawToken())

    def _forward_sasl(self, request: bytes, slot: WatchHandshake | WatchToken | WatchRawToken) -> None:
        self._state.forward(request, slot)
        self._state.change(Cause.SASL_SENT)


_BEFORE_SASL: Final[frozenset[int]] = frozenset(
    {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
)
"""The requests that a broker takes from a peer that it has not accepted yet. Any other request is rejected by
its key, before its frame is collected."""

_READ: Final[dict[int, Callable[[Requests, Request], None]]] = {
    ApiKey.PRODUCE: Requests._take_produce,
    ApiKey.API_VERSIONS: Requests._api_versions,
    ApiKey.SASL_HANDSHAKE: Requests._sasl_handshake,
    ApiKey.SASL_AUTHENTICATE: Requests._sasl_authenticate,
    **dict.fromkeys(CHANGES, Requests._watch_topics),
    **dict.fromkeys(MASKED, Requests._mask_addresses),
}
"""The requests that are read. Answers to others are rewritten (`addresses.LAYOUTS`) or forwarded."""

RELAYED: Final = relayed_but(_READ.keys() | addresses.LAYOUTS.keys())
"""The table of all other requests, for the fast path (`relayed_but`). It is computed from the tables that the
session itself uses, so that the session gets every answer that it must read."""
