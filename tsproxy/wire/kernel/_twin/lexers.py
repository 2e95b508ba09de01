"""Which requests and answers pass: whole frames, and nothing about them that needs thought."""

from collections.abc import Callable
from typing import Final

from tsproxy.model.kafka import NO_TIMESTAMP, ApiKey, Codec
from tsproxy.model.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse
from tsproxy.model.records import BatchFacts, RecordBatch, RecordFacts
from tsproxy.model.verdict import TopicLimits
from tsproxy.wire import k00_produce, record_set
from tsproxy.wire.headers import RequestHeader, read_request_header, response_body_start
from tsproxy.wire.kernel._twin.in_flight import InFlight
from tsproxy.wire.kernel._twin.table import Table
from tsproxy.wire.kernel._twin.walk import walk
from tsproxy.wire.kernel.passed import PassedBatch, PassedProduce, PassedRelay
from tsproxy.wire.primitives import DecodeError

_SIZE_BYTES: Final = 4
_KEY_END: Final = 6
_SMALLEST: Final = 10
_BARE_HEADER: Final = 10
_NO_TAGS: Final = (b"", b"\x00")
_MAX_UNORDERED: Final = 64
"""Partitions of an answer that are looked for where they are not told in the request's order."""

_CODEC: Final = 0x07
_TRANSACTIONAL: Final = 0x10
PRODUCE_VERSIONS: Final = range(3, 13)

Buffer = bytes | bytearray | memoryview

ReadCompressed = Callable[[int, bytes, int, int, TopicLimits | None], RecordFacts | None]
"""(codec id, the records as they came, base timestamp, their count, the topic's limits) -> their facts,
or None where they are not read."""


class RequestLexer:
    """Looks for requests that certainly may go on as they came, and notes them in `in_flight`.

    `relayed`: by API key, 1 + the newest version that passes unread, 0 for none. `flexible_from`: by
    API key. Sizes in bytes. `table` is the session's to replace at any time; None lets no Produce pass.
    `read_compressed` reads a compressed batch's records, and None lets none pass; it must not come back
    here, and need not read what is dear to read.

    `is_open`: whole frames may go by without a look at anything but themselves, as long as fewer than
    `most_in_flight` are in flight behind them. The session's to set; `pass_on` heeds it, `passing` does not.
    `oldest_produce` and `newest_produce` are the session's to narrow: what the broker takes.
    """

    def __init__(
        self,
        in_flight: InFlight,
        relayed: bytes,
        flexible_from: bytes,
        produce_frame: int,
        other_frame: int,
        read_compressed: ReadCompressed | None = None,
    ) -> None:
        self.table: Table | None = None
        self.goes = 0
        """How often `pass_on` was asked."""
        self.is_open = False
        self.most_in_flight = 0
        self.oldest_produce, self.newest_produce = PRODUCE_VERSIONS[0], PRODUCE_VERSIONS[-1]
        self.in_flight = in_flight
        self._relayed = relayed
        self._flexible_from = flexible_from
        self._produce_frame = produce_frame
        self._other_frame = other_frame
        self._read_compressed = read_compressed

    def passing(self, data: bytes | bytearray, start: int, room: int, now_ms: int) -> int:
        """Where the run of requests ends that begins at `start` and passes, `room` of them at most."""
        while room > 0 and len(data) - start >= _SIZE_BYTES + _SMALLEST:
            end = start + _SIZE_BYTES + int.from_bytes(data[start : start + _SIZE_BYTES], "big", signed=True)
            if end > len(data) or not self._passes(bytes(data[start + _SIZE_BYTES : end]), now_ms):
                break
            start, room = end, room - 1
        return start

    def pass_on(self, data: Buffer, now_ms: int) -> int:
        """How many bytes of `data` may go on: whole requests that pass."""
        if not self.is_open:
            return 0
        self.goes += 1
        head = bytes(data[:_SIZE_BYTES])  # of what has not come whole, no copy each time a part of it comes
        if int.from_bytes(head, "big", signed=True) > len(data) - _SIZE_BYTES:
            return 0
        return self.passing(bytes(data), 0, self.most_in_flight - len(self.in_flight) - 1, now_ms)

    def awaits_more(self, data: Buffer) -> bool:
        """True where `data` is the beginning of a request about which nothing is odd so far."""
        begun = bytes(data[:_KEY_END])
        if not self.is_open or len(begun) < _SIZE_BYTES:
            return self.is_open
        size = int.from_bytes(begun[:_SIZE_BYTES], "big", signed=True)
        if size < _SMALLEST or size <= len(data) - _SIZE_BYTES:
            return False
        if len(begun) < _KEY_END:
            return size <= max(self._produce_frame, self._other_frame)
        is_produce = int.from_bytes(begun[_SIZE_BYTES:_KEY_END], "big") == ApiKey.PRODUCE
        return size <= (self._produce_frame if is_produce else self._other_frame)

    def _passes(self, payload: bytes, now_ms: int) -> bool:
        if len(payload) < _SMALLEST:
            return False
        try:
            if int.from_bytes(payload[:2], "big") == ApiKey.PRODUCE:
                return self._produce_passes(payload, now_ms)
            return len(payload) <= self._other_frame and self._relay_passes(payload)
        except DecodeError:
            return False

    def _relay_passes(self, payload: bytes) -> bool:
        header = read_request_header(payload)
        if not 0 <= header.api_key < len(self._relayed):
            return False
        if not 0 <= header.api_version < self._relayed[header.api_key]:
            return False
        if not self._has_plain_header(header, payload):
            return False
        self.in_flight.push(PassedRelay(header.correlation_id))
        return True

    def _produce_passes(self, payload: bytes, now_ms: int) -> bool:
        asked, table = self.plain_produce(payload, now_ms), self.table
        if asked is None or table is None:
            return False
        header, request = asked
        batches = self._batches(request, table, now_ms)
        if batches is None:
            return False
        passed = PassedProduce(
            header.correlation_id,
            header.api_version,
            request.acks,
            now_ms,
            table.peer,
            table.transactional_id,
            batches,
        )
        table.in_flight += 1
        self.in_flight.push((passed, table))
        return True

    def plain_produce(self, payload: bytes, now_ms: int) -> tuple[RequestHeader, ProduceRequest] | None:
        """The request that a payload is, where nothing but its batches is to be looked at.

        Raises DecodeError.
        """
        header, table = read_request_header(payload), self.table
        if table is None or now_ms < 0 or header.client_id != table.peer.client_id:
            return None
        is_offered = self.oldest_produce <= header.api_version <= self.newest_produce
        if not is_offered or header.api_version not in PRODUCE_VERSIONS or len(payload) > self._produce_frame:
            return None
        if not self._has_plain_header(header, payload):
            return None
        body = payload[header.body_start :]
        request = k00_produce.read_request(header.api_version, body)
        if request.transactional_id != table.transactional_id or request.acks not in (-1, 1):
            return None
        if not _is_plain(request) or k00_produce.write_request(header.api_version, request) != body:
            return None
        return header, request

    def _has_plain_header(self, header: RequestHeader, payload: bytes) -> bool:
        """True where no tag follows the client id."""
        is_flexible = header.api_version >= self._flexible_from[header.api_key]
        client_id_size = max(0, int.from_bytes(payload[8:10], "big", signed=True))
        tags = payload[_BARE_HEADER + client_id_size : header.body_start]
        return tags == (b"\x00" if is_flexible else b"")

    def _batches(self, request: ProduceRequest, table: Table, now_ms: int) -> tuple[PassedBatch, ...] | None:
        """The batches of a request all of whose partitions are fine, else None."""
        batches = []
        for topic in request.topics:
            row = table.rows.get(topic.name)
            if row is None or not topic.partitions:
                return None
            for partition in topic.partitions:
                facts = self.usual_facts(partition.records, row.limits, table)
                if facts is None or not row.allows(facts.min_timestamp_ms, facts.max_timestamp_ms, now_ms):
                    return None
                batches.append(PassedBatch(topic.name, partition.index, row.limits, facts))
        return tuple(batches) or None

    def usual_facts(
        self, data: memoryview | None, limits: TopicLimits | None, table: Table
    ) -> BatchFacts | None:
        """The facts of the one batch that `data` is, None where anything about it is odd but its times."""
        found = record_set.scan(data, 2)
        if data is None or found.fault is not None or len(found.batches) != 1:
            return None
        batch = found.batches[0]
        if batch.size_in_bytes != len(data) or not self._is_usual(batch, table):
            return None
        facts = self._record_facts(batch, limits)
        if facts is None:
            return None
        highest_ms = NO_TIMESTAMP if facts.highest_ms is None else max(facts.highest_ms, NO_TIMESTAMP)
        if facts.fault is not None or batch.max_timestamp != highest_ms:
            return None
        return BatchFacts(
            magic=2,
            codec=batch.codec_name,
            batch_bytes=len(data),
            records=facts.records,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            min_timestamp_ms=facts.lowest_ms,
            max_timestamp_ms=facts.highest_ms,
        )

    def _record_facts(self, batch: RecordBatch, limits: TopicLimits | None) -> RecordFacts | None:
        body, base_timestamp = batch.data[record_set.HEADER_SIZE :], batch.base_timestamp
        if batch.codec_id == Codec.NONE:
            return walk(body, base_timestamp, batch.records_count, True)
        if batch.codec_id > Codec.ZSTD or self._read_compressed is None:
            return None
        return self._read_compressed(batch.codec_id, bytes(body), base_timestamp, batch.records_count, limits)

    def _is_usual(self, batch: RecordBatch, table: Table) -> bool:
        """True for the header of a batch that no broker and no rule minds."""
        allowed_attributes = 0 if table.transactional_id is None else _TRANSACTIONAL
        return (
            batch.magic == 2
            and batch.base_offset == 0
            and batch.attributes & ~(allowed_attributes | _CODEC) == 0
            and 0 < batch.records_count <= table.records_per_batch
            and batch.last_offset_delta == batch.records_count - 1
            and (batch.producer_id < 0 or batch.base_sequence >= 0)
        )


class AnswerLexer:
    """Looks for answers that certainly may go on as they came, and takes them off `in_flight`.

    `is_open`: as the RequestLexer's.
    """

    def __init__(self, in_flight: InFlight) -> None:
        self.is_open = False
        self._in_flight = in_flight

    def passing(self, data: bytes | bytearray, start: int) -> int:
        """Where the run of whole answers ends that begins at `start` and passes."""
        while len(data) - start >= 2 * _SIZE_BYTES:
            size = int.from_bytes(data[start : start + _SIZE_BYTES], "big", signed=True)
            end = start + _SIZE_BYTES + size
            if size < _SIZE_BYTES or end > len(data):
                break
            if not self._may_pass(bytes(data[start + _SIZE_BYTES : end])):
                break
            self._book_head()
            start = end
        return start

    def pass_on(self, data: Buffer) -> int:
        """How many bytes of `data` may go on: whole answers that pass, and as much as has come of one
        whose content nobody reads. None behind which a slot of the session's own comes to the head."""
        come, start, asked = bytes(data), 0, self._in_flight
        while self.is_open and start < len(come):
            if not asked.streaming and not self._begin(come[start:]):
                break
            left = min(asked.streaming, len(come) - start)
            if left == asked.streaming:
                if self._is_slot_next():
                    break
                self._book_head()
            asked.streaming -= left
            start += left
        return start

    def _begin(self, come: bytes) -> bool:
        """True where the answer may go on, as far as it has come: it streams now."""
        if len(come) < 2 * _SIZE_BYTES:
            return False
        size = int.from_bytes(come[:_SIZE_BYTES], "big", signed=True)
        if size <= len(come) - _SIZE_BYTES:
            payload = come[_SIZE_BYTES : max(0, _SIZE_BYTES + size)]
            if size < _SIZE_BYTES or self._is_slot_next() or not self._may_pass(payload):
                return False
        else:
            passed = self._in_flight.passed(0)
            correlation_id = int.from_bytes(come[_SIZE_BYTES : 2 * _SIZE_BYTES], "big", signed=True)
            if not isinstance(passed, PassedRelay) or passed.correlation_id != correlation_id:
                return False
        self._in_flight.streaming = _SIZE_BYTES + size
        return True

    def _is_slot_next(self) -> bool:
        """True where a slot of the session's comes to the head behind the answer that is told now."""
        return len(self._in_flight) > 1 and self._in_flight.passed(1) is None

    def _may_pass(self, payload: bytes) -> bool:
        passed = self._in_flight.passed(0)
        correlation_id = int.from_bytes(payload[:4], "big", signed=True)
        if isinstance(passed, PassedRelay):
            return passed.correlation_id == correlation_id
        if passed is None:
            return False
        request, _ = passed
        return request.correlation_id == correlation_id and _all_accepted(request, payload)

    def _book_head(self) -> None:
        passed = self._in_flight.passed(0)
        if passed is not None and not isinstance(passed, PassedRelay):
            request, table = passed
            table.in_flight -= 1
            table.book(request)
        self._in_flight.pop()


def _all_accepted(request: PassedProduce, payload: bytes) -> bool:
    """True where the answer names each partition once, all with code 0, and tells nothing else."""
    version = request.api_version
    try:
        start = response_body_start(ApiKey.PRODUCE, version, payload)
        response = k00_produce.read_response(version, payload[start:])
    except DecodeError:
        return False
    is_plain_header = payload[4:start] in _NO_TAGS
    if not is_plain_header or not _says_only_yes(response):
        return False
    if k00_produce.write_response(version, response) != payload[start:]:
        return False
    asked = [(batch.topic, batch.partition) for batch in request.batches]
    told = [(topic.name, partition.index) for topic in response.topics for partition in topic.partitions]
    return told == asked or (len(told) <= _MAX_UNORDERED and sorted(told) == sorted(asked))


def _says_only_yes(response: ProduceResponse) -> bool:
    if response.node_endpoints is not None or response.tags:
        return False
    return all(
        topic.tags in _NO_TAGS and topic.partitions and all(_is_yes(each) for each in topic.partitions)
        for topic in response.topics
    )


def _is_yes(partition: PartitionProduceResponse) -> bool:
    return (
        partition.error_code == 0
        and not partition.record_errors
        and partition.error_message is None
        and partition.tags in _NO_TAGS
    )


def _is_plain(request: ProduceRequest) -> bool:
    """True where no tag stands anywhere."""
    return request.tags in _NO_TAGS and all(
        topic.tags in _NO_TAGS and all(partition.tags in _NO_TAGS for partition in topic.partitions)
        for topic in request.topics
    )
