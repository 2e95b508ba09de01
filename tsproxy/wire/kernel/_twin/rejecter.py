"""Requests that are rejected as others were before: recognised, answered and counted."""

from dataclasses import dataclass
from typing import Final

import google_crc32c

from tsproxy.model.kafka import LONG_MIN, ApiKey, Codec
from tsproxy.model.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
    WrittenErrors,
)
from tsproxy.model.records import BatchFacts, Outside
from tsproxy.wire import k00_produce, record_set
from tsproxy.wire.headers import RequestHeader, frame, response_header
from tsproxy.wire.kernel._twin.culprits import find_outside, record_errors
from tsproxy.wire.kernel._twin.lexers import Buffer, RequestLexer
from tsproxy.wire.kernel._twin.rejections import Rejections, Way
from tsproxy.wire.kernel._twin.table import Table
from tsproxy.wire.primitives import DecodeError

MOST_RECORDS: Final = 20_000
"""Of one go: to find culprits among more, and to name them, would hold up everybody else, and a client that
does not read must not make many large answers."""
MOST_PARTITIONS: Final = 64
_SIZE_BYTES: Final = 4
_SMALLEST: Final = 10


@dataclass(frozen=True, slots=True)
class _Guilty:
    """One partition of a request, and how it is rejected."""

    partition: int
    way: Way
    batch: BatchFacts
    outside: Outside


class Rejecter:
    """Looks for requests of which every batch is certainly rejected as `Table.reject` says, while nothing
    is in flight: then the answer's turn is now. It shares the lexer's table, its queue, and its leave."""

    def __init__(self, requests: RequestLexer) -> None:
        self._requests = requests
        self._records_left = MOST_RECORDS

    def reject(self, data: Buffer, now_ms: int) -> tuple[int, bytes, int]:
        """(how many bytes of `data` are rejected requests, the answers to them, for how many ms the client
        is to be silent). It ends behind a request that costs silence."""
        requests, table = self._requests, self._requests.table
        end, answers, silent_ms, self._records_left = 0, b"", 0, MOST_RECORDS
        if not requests.is_open or table is None or not table.rejections or len(requests.in_flight):
            return 0, b"", 0
        while not silent_ms and len(data) - end >= _SIZE_BYTES + _SMALLEST:
            size = int.from_bytes(data[end : end + _SIZE_BYTES], "big", signed=True)
            if size < _SMALLEST or size > len(data) - end - _SIZE_BYTES:
                break  # of what has not come whole, no copy each time a part of it comes
            payload = bytes(data[end + _SIZE_BYTES : end + _SIZE_BYTES + size])
            rejected = self._rejected(payload, table, now_ms)
            if rejected is None:
                break
            answer, silent_ms = rejected
            end, answers = end + _SIZE_BYTES + size, answers + answer
            requests.in_flight.answered += 1
        return end, answers, silent_ms

    def _rejected(self, payload: bytes, table: Table, now_ms: int) -> tuple[bytes, int] | None:
        """The answer to a request that is rejected, and how long the client is to be silent."""
        if int.from_bytes(payload[:2], "big") != ApiKey.PRODUCE:
            return None
        try:
            asked = self._requests.plain_produce(payload, now_ms)
        except DecodeError:
            return None
        if asked is None:
            return None
        header, request = asked
        guilty = [self._guilty_of(topic, table, now_ms) for topic in request.topics]
        if not guilty or not all(guilty):
            return None
        every = [each for topic in guilty for each in topic]
        bad_records = sum(each.outside.count for each in every)
        records = sum(each.batch.records for each in every)
        if bad_records > every[0].way.rejection.culprits_listed or records > self._records_left:
            return None
        producers = {(each.batch.producer_id, each.batch.producer_epoch) for each in every}
        if len(every) > MOST_PARTITIONS or len(producers) > 1 or _is_named_twice(request):
            return None
        silence = every[0].way.rejection.silence
        size_bytes = sum(each.batch.batch_bytes for each in every)
        silent_ms = 0 if silence is None else silence(len(every), size_bytes, now_ms)
        if silent_ms is None:
            return None
        self._records_left -= records
        for each in every:
            each.way.book(each.batch, each.outside, header.correlation_id, now_ms)
        return _answer(header, request, guilty, now_ms, silent_ms), silent_ms

    def _guilty_of(self, topic: TopicProduceData, table: Table, now_ms: int) -> list[_Guilty]:
        """All partitions of a topic; none where one is not certainly rejected."""
        rejections, found = table.rejections.get(topic.name), []
        for partition in topic.partitions if rejections is not None else ():
            assert rejections is not None
            judged = self._judged(partition.records, rejections, table, now_ms)
            if judged is None:
                return []
            found.append(_Guilty(partition.index, *judged))
        return found

    def _judged(
        self, data: memoryview | None, rejections: Rejections, table: Table, now_ms: int
    ) -> tuple[Way, BatchFacts, Outside] | None:
        if data is None or not record_set.HEADER_SIZE <= len(data) <= rejections.limits.max_message_bytes:
            return None
        batch = record_set.read_header(bytes(data[: record_set.HEADER_SIZE]))
        if batch is None or batch.codec_id != Codec.NONE or batch.records_count > MOST_RECORDS:
            return None
        facts = self._requests.usual_facts(data, rejections.limits, table)
        if facts is None or facts.min_timestamp_ms is None or facts.min_timestamp_ms <= LONG_MIN + now_ms:
            return None
        body, count = data[record_set.HEADER_SIZE :], facts.records
        outside = find_outside(body, batch.base_timestamp, count, *rejections.bounds_ms(now_ms), count)
        way = rejections.way_of(outside.timestamps_ms[0], now_ms) if outside.count else None
        if way is None or google_crc32c.value(bytes(data[record_set.ATTRIBUTES_OFFSET :])) != batch.crc:
            return None
        return way, facts, outside


def _is_named_twice(request: ProduceRequest) -> bool:
    """True for a topic; of a partition such a request is not read."""
    topics = [topic.name for topic in request.topics]
    return len({*topics}) < len(topics)


def _answer(
    header: RequestHeader, request: ProduceRequest, guilty: list[list[_Guilty]], now_ms: int, silent_ms: int
) -> bytes:
    version = header.api_version
    topics = tuple(
        TopicProduceResponse(topic.name, tuple(_rejection(each, version, now_ms) for each in found))
        for topic, found in zip(request.topics, guilty, strict=True)
    )
    head = response_header(ApiKey.PRODUCE, version, header.correlation_id)
    return frame(head + k00_produce.write_response(version, ProduceResponse(topics, silent_ms)))


def _rejection(guilty: _Guilty, version: int, now_ms: int) -> PartitionProduceResponse:
    rejection, outside = guilty.way.rejection, guilty.outside
    before, between, after = (piece.encode() for piece in rejection.pieces_at(now_ms))
    columns = outside.positions, outside.timestamps_ms, outside.offset_deltas
    is_flexible = version >= k00_produce.FLEXIBLE_FROM
    errors = record_errors(*columns, 0, (before, between, after), is_flexible)
    return PartitionProduceResponse(
        index=guilty.partition,
        error_code=rejection.blame.error_code,
        error_message=rejection.error_message,
        written_errors=WrittenErrors(outside.count, errors),
    )
