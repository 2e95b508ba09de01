from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tsproxy.decisions.totals import Totals
from tsproxy.fastpath.forwarded import ForwardedFetch, ForwardedProduce, ForwardedRelay
from tsproxy.fastpath.rejection import Rejection
from tsproxy.model.outcome import Peer
from tsproxy.model.produce import TopicKey
from tsproxy.model.records import RecordFacts
from tsproxy.model.verdict import TopicLimits
from tsproxy.wire.readers import FetchWalk

Buffer = bytes | bytearray | memoryview

ReadCompressed = Callable[[int, memoryview, int, int, TopicLimits | None, Any], RecordFacts | None]
"""(codec id, the records as they came, base timestamp, their count, the topic's limits, the read's budget) ->
their facts, or None if the fast path does not read them. The records are there during the call alone."""

Throttle = Callable[[int, int, int], int | None]
"""(batches, their bytes, now_ms) -> the `throttle_time_ms` of a rejection, 0 for none; None if the client is
throttled already, and the session must delay the answer."""

class Penalties(Protocol):
    """The penalties of the client's address. The object is a dict, empty if there are none."""

    def until_ms(self, topic: str) -> int:
        """Until when every compressed batch of the topic is read."""

class InFlight:
    """The queue of requests in flight: the session's slots, and the requests that the fast path forwarded.

    `slot_of` makes a slot of a forwarded request whose answer the session must read.
    """

    streaming: int
    """How many bytes of the head's answer are still to come, if the answer is forwarded as it comes."""
    @property
    def fetch(self) -> FetchWalk:
        """The walk over such an answer if the answer may name brokers; else the walk is over."""
    @property
    def answered(self) -> int:
        """How many requests have left the queue."""
    def __init__(
        self, slot_of: Callable[[ForwardedProduce | ForwardedFetch | ForwardedRelay], Any]
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def held_bytes(self) -> int:
        """The memory of the queue, and of the slots that were pushed."""
    def push(self, slot: object, held_bytes: int = 0) -> None:
        """`held_bytes` is the memory of the slot."""
    def head(self) -> Any:
        """The slot of the request that is answered next, None if there is none."""
    def own_head(self) -> Any:
        """The head if it is a slot of the session, else None."""
    def last(self) -> Any:
        """The slot that was pushed last, None if there is none or a request was forwarded since."""
    def pop(self) -> None:
        """Remove the head."""
    def clear(self) -> list[Any]:
        """Remove all slots, and return them in order."""

class Freshness:
    """The limits of a topic are fresh from `asked_ms`, when brokers were asked for them, to `until_ms` (Unix
    ms). All connections share it, so their repeated rejections end together."""

    asked_ms: int
    until_ms: int

class TopicTrust:
    """The compressed batches of a client and a topic that were read and in order, one after the other
    (`fastpath.adaptive`). The connections of the client share it."""

class Table:
    """A row for each topic of one connection, made for one `peer` and `transactional_id`.

    With `names_ids`, the table is for requests that name topics by id, else for requests that use names.

    A row has the bounds that a batch must keep, and the counts of accepted batches. Batches of more than
    `records_per_batch` records take the slow path. So do compressed batches if there is no `read_compressed`.
    Rejections that may be repeated are stored beside the rows, by topic; `throttle` counts what they cost.
    `seed` is for the random draw that decides which compressed batches of a row with trust are read. While
    `penalties` has one for the topic of such a row, all of them are read.
    """

    in_flight: int
    """How many requests were forwarded by this table and are not answered yet."""
    @property
    def peer(self) -> Peer: ...
    @property
    def transactional_id(self) -> str | None: ...
    @property
    def names_ids(self) -> bool: ...
    @property
    def known_topics(self) -> Sequence[str]:
        """The topics of rows, and those of rejections: the table rests on their limits."""
    @property
    def kept(self) -> int:
        """How many rows there are, plus how many topics with rejections."""
    @property
    def held_bytes(self) -> int:
        """The memory of rows, rejections, histograms and names. It takes some microseconds to add up."""
    def __init__(
        self,
        peer: Peer,
        transactional_id: str | None,
        records_per_batch: int,
        read_compressed: ReadCompressed | None = None,
        throttle: Throttle | None = None,
        names_ids: bool = False,
        seed: int | None = None,
        penalties: Penalties | None = None,
    ) -> None: ...
    def __contains__(self, key: TopicKey) -> bool: ...
    def add(
        self,
        topic: str,
        limits: TopicLimits | None,
        before_max_ms: int | None,
        after_max_ms: int | None,
        topic_id: bytes | None = None,
        trust: TopicTrust | None = None,
    ) -> None:
        """Forward batches of `topic` with times within the two limits, or with any times if both are None.
        With `trust`, not every compressed batch is read (`fastpath.adaptive`)."""
    def was_in_order(self, key: TopicKey) -> None:
        """The broker has accepted a compressed batch of the topic that the session had read."""
    def repeat(self, rejection: Rejection) -> None:
        """Repeat this rejection, in place of an earlier one with the same key."""
    def drain(self) -> list[Totals]:
        """The totals of the batches that were accepted or rejected since the last drain."""

class Newest:
    """The number of the newest view. All connections of a listener share it."""

    number: int

class RequestFilter:
    """Finds the requests that may be forwarded as they came, and adds them to the queue.

    `relayed`: by API key, 1 + the newest version that is forwarded unread, 0 for none. Sizes in bytes.
    `new_budget` returns the budget of one read (`session.budget`).
    """

    table: Table | None
    """The session may replace it at any time. Without a table, no Produce request is forwarded."""
    is_open: bool
    """True while whole frames may be forwarded. The session sets it, and `forward_read` obeys it."""
    most_in_flight: int
    oldest_produce: int
    """With `newest_produce`, the versions that the broker supports. The session narrows them."""
    newest_produce: int
    newest: Newest | None
    """Nothing that is read is forwarded or rejected while `view_number` is another: the session takes the
    newest view first."""
    view_number: int
    def __init__(
        self,
        in_flight: InFlight,
        relayed: bytes,
        produce_frame: int,
        other_frame: int,
        new_budget: Callable[[], object],
    ) -> None: ...
    def forward_read(self, data: Buffer, now_ms: int) -> int:
        """How many bytes of one read may be forwarded: whole requests from its beginning on."""
    def forward_buffered(
        self, data: bytes | bytearray, start: int, most: int, now_ms: int, budget: object
    ) -> int:
        """The end of the requests from `start` on that may be forwarded. They are `most` at most."""
    def take_budget(self) -> Any:
        """The budget of the read that `forward_read` has looked at, or a new one. The session has it then."""
    def awaits_more(self, data: Buffer) -> bool:
        """True if `data` is the beginning of a request with nothing odd so far."""

class AnswerFilter:
    """Finds the answers that may be forwarded as they came, and removes their requests from the queue."""

    is_open: bool
    def __init__(self, in_flight: InFlight) -> None: ...
    def forward_read(self, data: Buffer) -> int:
        """How many bytes may be forwarded: whole answers, and the part that has come of an answer that the
        proxy does not read. They end before an answer (or the rest of it) if the request behind the answered
        one is a slot of the session. If the part of a Fetch answer in `data` reaches an end that may name
        brokers, they end before this part."""
    def forward_buffered(self, data: bytes | bytearray, start: int) -> int:
        """The end of the whole answers from `start` on that may be forwarded."""

class Rejecter:
    """Repeats rejections while no request is in flight: then no other answer must be sent first.

    It uses the request filter's table and queue.
    """

    def __init__(self, requests: RequestFilter) -> None: ...
    def reject(self, data: Buffer, now_ms: int) -> tuple[int, bytes, int]:
        """(how many bytes of `data` are rejected requests, their answers, the last one's throttle_time_ms).
        The rejected requests end behind one for which the client is throttled. There are none while the
        request filter is closed."""

    def reject_buffered(self, data: Buffer, start: int, now_ms: int) -> tuple[int, bytes, int]:
        """The same for the session's own bytes from `start` on, whether the filter is open or not; the first
        number is where the rejected requests end."""
