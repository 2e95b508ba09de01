"""The intended differences between a broker's answer and the proxy's. One that no row claims is a failure.

`docs/reference/verdicts.md` says of each what the broker answers, what the proxy answers, and why.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from rigs.differential.comparison import Exchange
from rigs.differential.generator import Part
from tsproxy.model.kafka import Codec, ErrorCode, TimestampType
from tsproxy.model.records import Fault, RecordBatch
from tsproxy.model.view import SessionLimits, View
from tsproxy.policy.checks.faults import OUR_LIMITS
from tsproxy.policy.checks.request import ONE_BATCH_FROM, is_left_to_the_broker
from tsproxy.policy.checks.whole_request import one_producer, transactional_id_is_there
from tsproxy.policy.context import BatchContext, RequestContext
from tsproxy.session.job import Work
from tsproxy.session.policies import NOBODY, of_anybody
from tsproxy.session.produce.context import PartitionReader
from tsproxy.wire import codecs, message_set, record_batch, record_set
from tsproxy.wire.k00_produce import MAX_PARTITIONS
from tsproxy.wire.records import read_varint

_ATTRIBUTES_AT: Final = {0: 17, 1: 17, 2: 22}
"""The position of the low byte of the attributes, by magic."""


def attribute_bits(records: bytes) -> int:
    """The low bytes of all batches' attributes, or-ed."""
    bits = at = 0
    while at + 26 <= len(records):
        bits |= records[at + _ATTRIBUTES_AT.get(records[at + 16], 22)]
        at += 12 + max(int.from_bytes(records[at + 8 : at + 12], "big", signed=True), 14)
    return bits


def _first_batch(exchange: Exchange) -> RecordBatch | None:
    return next(iter(record_set.scan(memoryview(exchange.part.records), 1).batches), None)


def _only_log_start_offset(exchange: Exchange) -> bool:
    return (
        exchange.differing() == ("log_start_offset",)
        and exchange.is_rejected_here
        and exchange.proxied is not None
        and exchange.proxied.log_start_offset == -1
    )


def _bit_3(exchange: Exchange) -> bool:
    return (
        bool(attribute_bits(exchange.part.records) & 0x08)
        and exchange.part.topic.limits.timestamp_type is TimestampType.CREATE_TIME
        and exchange.proxy_code == ErrorCode.INVALID_TIMESTAMP
    )


def _bit_6(exchange: Exchange) -> bool:
    has_bit = bool(attribute_bits(exchange.part.records) & 0x40)
    return has_bit and exchange.proxy_code == ErrorCode.INVALID_RECORD


def _transaction(exchange: Exchange) -> bool:
    return (
        bool(attribute_bits(exchange.part.records) & 0x10)
        and exchange.broker_code in _OF_TRANSACTIONS
        and exchange.is_rejected_here
    )


def _broken_stream(exchange: Exchange) -> bool:
    """The broker met a bad record first; here the data of the first batch does not decompress."""
    codes = exchange.broker_code, exchange.proxy_code
    batch = _first_batch(exchange)
    if batch is None or codes != (ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_SERVER_ERROR):
        return False
    read = record_batch.read_facts if batch.magic == 2 else message_set.read_facts
    return read(batch, SessionLimits()).fault is Fault.UNDECOMPRESSABLE


def _unsound_match(exchange: Exchange) -> bool:
    """A match of the batch copies data that is not there, whatever the broker answered."""
    batch = _first_batch(exchange)
    if batch is None or batch.magic < 2 or exchange.proxy_code != ErrorCode.UNKNOWN_SERVER_ERROR:
        return False
    limits, body = SessionLimits(), batch.data[record_set.HEADER_SIZE :]
    if batch.codec_id not in (Codec.LZ4, Codec.ZSTD):
        return False
    try:
        codecs.decompress(batch.codec_id, body, limits.decompressed_batch, limits.zstd_window)
    except codecs.CodecError as error:
        return "match" in str(error)
    return False


def _unknown_codec(exchange: Exchange) -> bool:
    """The broker rejects the request for a codec in it, and the proxy this partition for what is its own."""
    if exchange.broker_code != ErrorCode.UNKNOWN_SERVER_ERROR or not exchange.is_rejected_here:
        return False
    return any(is_left_to_the_broker(_case(exchange, part)) for part in exchange.request)


TEXTS_FROM: Final = 8
"""From this version on an answer has texts."""

HEAP_BYTES: Final = 1 << 26
"""A broker of the tests read a claim of so much; its log names OutOfMemoryError for Integer.MAX."""


def _absurd_size(exchange: Exchange) -> bool:
    """A record in compressed data claims to be larger than any heap that tests have."""
    if exchange.broker_code != ErrorCode.UNKNOWN_SERVER_ERROR or not exchange.is_rejected_here:
        return False
    batch = _first_batch(exchange)
    if batch is None or batch.codec_id == Codec.NONE:
        return False
    sizes = _sizes_of_messages(batch) if batch.magic < 2 else _sizes_of_records(batch)
    return any(size > HEAP_BYTES for size in sizes)


def _is_before(exchange: Exchange, release: tuple[int, int]) -> bool:
    return tuple(map(int, exchange.broker_version.split("."))) < release


def _damaged_record(exchange: Exchange) -> bool:
    """A broker before 3.6 reads compressed records as if it compressed them anew, before their times."""
    codes, batch = (exchange.broker_code, exchange.proxy_code), _first_batch(exchange)
    if batch is None or batch.magic < 2 or not _is_before(exchange, (3, 6)):
        return False
    is_damaged = record_batch.read_facts(batch, SessionLimits(), is_recompressed=True).fault is not None
    return is_damaged and codes in (
        (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_RECORD),
    )


def _older_words(exchange: Exchange) -> bool:
    """A broker before 3.5 says the same of the same records; its texts end otherwise."""
    direct, proxied = exchange.direct, exchange.proxied
    if direct is None or proxied is None or not _is_before(exchange, (3, 5)) or not exchange.is_rejected_here:
        return False
    if not {*exchange.differing()} <= {"record_errors", "error_message", "log_start_offset"}:
        return False
    both = direct, proxied
    told, named = ([(at, (text or "").rstrip(".")) for at, text in one.record_errors] for one in both)
    older, newer = ((one.error_message or "").replace(".'", "'") for one in both)
    lists_none = older == REJECTED and newer.startswith(REJECTED)  # 3.0 and older
    return told == named and (older == newer or lists_none)


def _sizes_of_messages(batch: RecordBatch) -> Iterator[int]:
    """The sizes that wrapped messages claim."""
    plain, at = message_set.decompressed(batch, SessionLimits()), 0
    while isinstance(plain, bytes) and at + 12 <= len(plain):
        size = int.from_bytes(plain[at + 8 : at + 12], "big", signed=True)
        yield size
        at += 12 + max(size, 0)


def _sizes_of_records(batch: RecordBatch) -> Iterator[int]:
    """The sizes that records of magic 2 claim."""
    limits, body, at = SessionLimits(), batch.data[record_set.HEADER_SIZE :], 0
    with suppress(codecs.CodecError, LookupError, ValueError):  # what can be read ends
        plain = codecs.decompress(batch.codec_id, body, limits.decompressed_batch, limits.zstd_window)
        while True:
            size, at = read_varint(plain, at)
            yield size
            at += max(size, 0)


def _order_of_partitions(exchange: Exchange) -> bool:
    """Partitions that differ in why they reject the whole request: each side tells the reason of one."""
    if exchange.version >= ONE_BATCH_FROM or exchange.differing() != ("error_code",):
        return False
    cases = [_case(exchange, part) for part in _as_sent(exchange.request)]
    if transactional_id_is_there(cases) is not None:  # which a broker takes in the request's order
        return False
    codes = [reject.error_code for case in cases if (reject := one_producer([case])) is not None]
    return codes[:1] == [exchange.proxy_code] and exchange.broker_code in codes


def _as_sent(parts: Sequence[Part]) -> list[Part]:
    """The partitions in the order of the request's bytes, where those of a topic are together."""
    topics = list(dict.fromkeys(part.topic for part in parts))
    return sorted(parts, key=lambda part: topics.index(part.topic))


def _case(exchange: Exchange, part: Part) -> BatchContext:
    return read_by_the_core(View(), exchange.version, part.topic.config, part.partition, part.records, 0)


def read_by_the_core(
    view: View, version: int, topic: str, partition: int, records: bytes, now_ms: int
) -> BatchContext:
    """The records of one partition, to be judged at that time."""
    request = RequestContext(version, 1, has_transactional_id=False, now_ms=now_ms, peer=NOBODY)
    policy, work = of_anybody(view).of(topic, now_ms), Work(view.limits)
    return PartitionReader(request, topic, partition, policy, view.limits, work).read(memoryview(records))


def _own_limit_of_a_batch(exchange: Exchange) -> bool:
    """The answer has the proxy's own words, if its version has room for any."""
    if exchange.proxied is None or exchange.proxied.error_code != ErrorCode.INVALID_RECORD:
        return False
    if exchange.version >= TEXTS_FROM:
        return exchange.proxied.error_message in OUR_LIMITS.values()
    found = _case(exchange, exchange.part)
    return found.facts is not None and found.facts.fault in OUR_LIMITS


def _more_culprits_than_are_listed(exchange: Exchange) -> bool:
    """The proxy names the first of those that the broker names, and both say the same besides."""
    if exchange.direct is None or exchange.proxied is None or not exchange.is_rejected_here:
        return False
    if not {"record_errors"} <= {*exchange.differing()} <= {"record_errors", "log_start_offset"}:
        return False
    told, named = exchange.direct.record_errors, exchange.proxied.record_errors
    return len(named) < len(told) and told[: len(named)] == named


def _more_partitions_than_any_broker_leads(exchange: Exchange) -> bool:
    return exchange.proxied is None and len(exchange.request) > MAX_PARTITIONS


REJECTED: Final = "One or more records have been rejected"

_OF_TRANSACTIONS: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
)

INTENDED: Final[Mapping[str, Callable[[Exchange], bool]]] = {
    "log start offset": _only_log_start_offset,
    "LogAppendTime set by a producer (attribute bit 3) on a CreateTime topic": _bit_3,
    "delete horizon set by a producer (attribute bit 6)": _bit_6,
    "state of a transaction": _transaction,
    "compressed data that is broken, or cut short": _broken_stream,
    "a match in lz4 or zstd that copies data that is not there": _unsound_match,
    "a size larger than any heap, inside compressed data": _absurd_size,
    "partitions that reject the whole request for different reasons (Produce v0 to v2)": _order_of_partitions,
    "an unknown codec beside a partition that the proxy rejects (Produce v3 to v6)": _unknown_codec,
    "a batch or a request beyond the proxy's own limits": _own_limit_of_a_batch,
    "more culprits than `limits.culprits_listed`": _more_culprits_than_are_listed,
    f"more than {MAX_PARTITIONS:,} partitions in one request": _more_partitions_than_any_broker_leads,
    "a record that does not fill its size, before 3.6": _damaged_record,
    "the end of a text, before 3.5": _older_words,
}
"""The name of each intended difference, as verdicts.md gives it, and whether an exchange is one."""


def claimed_by(exchange: Exchange) -> str | None:
    """The difference that this is meant to be; None where none is."""
    return next((name for name, claims in INTENDED.items() if claims(exchange)), None)
