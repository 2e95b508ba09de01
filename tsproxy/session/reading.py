"""Reads and rewrites an answer that must be read whole: `read_answer`.

The function is pure, so a large answer can be read in a thread (`read_beside`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.model.outcome import Outcome
from tsproxy.model.view import Endpoint, View
from tsproxy.session.produce_answer import settle
from tsproxy.session.slots import BookProduce, MaskAddresses, NarrowVersions, RewriteAddresses, WatchTopics
from tsproxy.wire import addresses, k18_api_versions
from tsproxy.wire.addresses import NO_NODE
from tsproxy.wire.changed_topics import changed_topics
from tsproxy.wire.headers import frame, response_body_start
from tsproxy.wire.k18_api_versions import BrokerVersions
from tsproxy.wire.left_out import leave_out
from tsproxy.wire.masking import MASKED
from tsproxy.wire.primitives import BoundedReader, DecodeError, Reader

Readable = BookProduce | RewriteAddresses | MaskAddresses | WatchTopics | NarrowVersions
"""The slots whose answers are read here. Answers of a SASL exchange are not: they are short, and they change
the session."""

MAX_READ_HERE: Final = 64 * 1024
"""The maximum number of bytes of answers that are read on the event loop in one go. More bytes are read in a
thread: the way to it and back costs only 70 us."""
MAX_ELEMENTS_HERE: Final = 32
"""The maximum number of brokers, coordinators, settings and the like in an answer that is read on the event
loop. One takes up to 4 us, and may have 18 bytes: answers of 3,000 brokers took 160 ms a MiB. A thread reads
answers with more of them."""


def reader_here(body: bytes | memoryview) -> Reader:
    """A reader for the event loop: an answer with more elements raises TooManyElementsError."""
    return BoundedReader(body, MAX_ELEMENTS_HERE)


@dataclass(frozen=True, slots=True)
class NodeWanted:
    """An answer named a node that has moved, or for which the view has no endpoint. `host` and `port` are the
    broker's own address."""

    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class AnswerRead:
    """An answer that was read. `frame` is sent to the client. `booked` are the outcomes of the forwarded
    batches. `moved` are nodes whose addresses differ from those in the view. `offers` are the versions that
    the broker offers, if the answer contains them. `left_out`: a broker was left out. `changed_topics` were
    changed, as the answer says."""

    frame: bytes
    booked: tuple[Outcome, ...] = ()
    moved: tuple[NodeWanted, ...] = ()
    offers: BrokerVersions | None = None
    left_out: bool = False
    changed_topics: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The answer could not be decoded; `text` says why."""

    text: str


class _NodeUnknownError(Exception):
    def __init__(self, node: NodeWanted) -> None:
        self.node = node


def read_answer(
    slot: Readable,
    payload: bytes,
    view: View,
    *,
    waits: bool = True,
    reader_of: Callable[[bytes | memoryview], Reader] = Reader,
) -> AnswerRead | NodeWanted:
    """The answer for the client, made from `payload`, the broker's answer to `slot`'s request. Raises
    DecodeError, and what the readers of `reader_of` raise. They look for addresses.

    `waits`: the result is NodeWanted if the answer names a node without an endpoint. Else such a node is left
    out, like the nodes in `view.unserved`.
    """
    moved: list[NodeWanted] = []
    was_left_out = False

    def is_left_out(node_id: int) -> bool:
        nonlocal was_left_out
        if node_id == NO_NODE or node_id in view.endpoints or (waits and node_id not in view.unserved):
            return False
        was_left_out = True
        return True

    def endpoint_of(node_id: int, host: str, port: int) -> Endpoint:
        if node_id == NO_NODE:
            raise DecodeError("an address without a node id")
        named = Endpoint(host, port)
        endpoint = view.endpoints.get(node_id)
        if endpoint is None:
            raise _NodeUnknownError(NodeWanted(node_id, host, port))
        if view.brokers.get(node_id, named) != named:  # moved: its port must lead to its new address
            moved.append(NodeWanted(node_id, host, port))
        return endpoint

    booked: tuple[Outcome, ...] = ()
    offers: BrokerVersions | None = None
    changed: frozenset[str] = frozenset()
    try:
        match slot:
            case BookProduce():
                answer, outcomes = settle(slot, payload, endpoint_of, is_left_out)
                booked = tuple(outcomes)
            case RewriteAddresses():
                start = response_body_start(slot.api_key, slot.api_version, payload)
                body: bytes | memoryview = memoryview(payload)[start:]
                if view.unserved or not waits:
                    body = leave_out(slot.api_key, slot.api_version, reader_of(body), is_left_out)
                rewritten = addresses.rewrite(slot.api_key, slot.api_version, reader_of(body), endpoint_of)
                answer = frame(payload[:start] + rewritten)
            case MaskAddresses():
                start = response_body_start(slot.api_key, slot.api_version, payload)
                body = memoryview(payload)[start:]
                masked = MASKED[slot.api_key].mask_addresses(slot.api_version, reader_of(body))
                changed = changed_topics(slot.api_key, slot.api_version, reader_of(body))
                answer = frame(payload[:start] + masked)
            case WatchTopics():
                start = response_body_start(slot.api_key, slot.api_version, payload)
                body = memoryview(payload)[start:]
                changed = changed_topics(slot.api_key, slot.api_version, reader_of(body))
                answer = frame(payload)
            case NarrowVersions():
                start = response_body_start(ApiKey.API_VERSIONS, slot.api_version, payload)
                version, body = slot.api_version, memoryview(payload)[start:]
                narrowed, offers = k18_api_versions.read_response(version, body, slot.newest_produce)
                answer = frame(payload[:start] + narrowed)
    except _NodeUnknownError as error:
        return error.node
    return AnswerRead(answer, booked, tuple(moved), offers, was_left_out, changed)


def read_beside(
    slot: Readable, payload: bytes, view: View, *, waits: bool = True
) -> AnswerRead | NodeWanted | Unreadable:
    """The same as `read_answer`, but with `Unreadable` in place of a DecodeError."""
    try:
        return read_answer(slot, payload, view, waits=waits)
    except DecodeError as error:
        return Unreadable(str(error))
