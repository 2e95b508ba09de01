"""The intended differences between a broker's answer and the proxy's, each with its reason.

`docs/reference/verdicts.md` has this table. A difference that no row claims is a failure.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from rigs.differential.comparison import Exchange
from rigs.differential.generator import Part
from tsproxy.model.kafka import Codec, ErrorCode, TimestampType
from tsproxy.model.records import Fault, RecordBatch
from tsproxy.model.view import SessionLimits, View
from tsproxy.policy.checks.faults import OUR_LIMITS
from tsproxy.policy.checks.request import ONE_BATCH_FROM, is_left_to_the_broker
from tsproxy.policy.checks.whole_request import STEPS
from tsproxy.policy.context import BatchContext, RequestContext
from tsproxy.session.job import Work
from tsproxy.session.policies import NOBODY, of_anybody
from tsproxy.session.produce.context import PartitionReader
from tsproxy.wire import codecs, message_set, record_batch, record_set
from tsproxy.wire.k00_produce import MOST_PARTITIONS
from tsproxy.wire.records import read_varint

_ATTRIBUTES_AT: Final = {0: 17, 1: 17, 2: 22}
"""The position of the low byte of the attributes, by magic."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One row: what the broker answers, what the proxy answers, and why."""

    name: str
    broker: str
    proxy: str
    reason: str
    claims: Callable[[Exchange], bool]


def attribute_bits(records: bytes) -> int:
    """The low bytes of all batches' attributes, or-ed."""
    bits = at = 0
    while at + 26 <= len(records):
        bits |= records[at + _ATTRIBUTES_AT.get(records[at + 16], 22)]
        at += 12 + max(int.from_bytes(records[at + 8 : at + 12], "big", signed=True), 14)
    return bits


def _is_rejected_here(exchange: Exchange, code: ErrorCode) -> bool:
    return exchange.proxied is not None and exchange.proxied.error_code == code


def _only_log_start_offset(exchange: Exchange) -> bool:
    return (
        exchange.differing() == ("log_start_offset",)
        and exchange.proxied is not None
        and exchange.proxied.error_code != ErrorCode.NONE
        and exchange.proxied.log_start_offset == -1
    )


def _bit_3(exchange: Exchange) -> bool:
    return (
        bool(attribute_bits(exchange.part.records) & 0x08)
        and exchange.part.topic.limits.timestamp_type is TimestampType.CREATE_TIME
        and _is_rejected_here(exchange, ErrorCode.INVALID_TIMESTAMP)
    )


def _bit_6(exchange: Exchange) -> bool:
    return bool(attribute_bits(exchange.part.records) & 0x40) and _is_rejected_here(
        exchange, ErrorCode.INVALID_RECORD
    )


def _transaction(exchange: Exchange) -> bool:
    return (
        bool(attribute_bits(exchange.part.records) & 0x10)
        and exchange.direct is not None
        and exchange.direct.error_code in _OF_TRANSACTIONS
        and exchange.proxied is not None
        and exchange.proxied.error_code != ErrorCode.NONE
    )


def _broken_stream(exchange: Exchange) -> bool:
    """The broker met a bad record first; here the data of the first batch does not decompress."""
    if exchange.direct is None or exchange.direct.error_code != ErrorCode.INVALID_RECORD:
        return False
    found = record_set.scan(memoryview(exchange.part.records), 1).batches
    if not found or not _is_rejected_here(exchange, ErrorCode.UNKNOWN_SERVER_ERROR):
        return False
    read = record_batch.read_facts if found[0].magic == 2 else message_set.read_facts
    return read(found[0], SessionLimits()).fault is Fault.UNDECOMPRESSABLE


def _unsound_match(exchange: Exchange) -> bool:
    """A match of the batch copies data that is not there, whatever the broker answered."""
    found = record_set.scan(memoryview(exchange.part.records), 1).batches
    if not found or found[0].magic < 2 or not _is_rejected_here(exchange, ErrorCode.UNKNOWN_SERVER_ERROR):
        return False
    limits, body = SessionLimits(), found[0].data[record_set.HEADER_SIZE :]
    if found[0].codec_id not in (Codec.LZ4, Codec.ZSTD):
        return False
    try:
        codecs.decompress(found[0].codec_id, body, limits.decompressed_batch, limits.zstd_window)
    except codecs.CodecError as error:
        return "match" in str(error)
    return False


def _unknown_codec(exchange: Exchange) -> bool:
    """The broker rejects the request for a codec in it, and the proxy this partition for what is its own."""
    if exchange.direct is None or exchange.direct.error_code != ErrorCode.UNKNOWN_SERVER_ERROR:
        return False
    if exchange.proxied is None or exchange.proxied.error_code == ErrorCode.NONE:
        return False
    return any(is_left_to_the_broker(_case(exchange, part)) for part in exchange.request)


TEXTS_FROM: Final = 8
"""From this version on an answer has texts."""

HEAP_BYTES: Final = 1 << 26
"""A broker of the tests read a claim of so much; its log names OutOfMemoryError for Integer.MAX."""


def _absurd_size(exchange: Exchange) -> bool:
    """A record in compressed data claims to be larger than any heap that tests have."""
    if exchange.direct is None or exchange.direct.error_code != ErrorCode.UNKNOWN_SERVER_ERROR:
        return False
    if exchange.proxied is None or exchange.proxied.error_code == ErrorCode.NONE:
        return False
    found = record_set.scan(memoryview(exchange.part.records), 1).batches
    if not found or found[0].codec_id == Codec.NONE:
        return False
    sizes = _sizes_of_messages(found[0]) if found[0].magic < 2 else _sizes_of_records(found[0])
    return any(size > HEAP_BYTES for size in sizes)


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
    with suppress(codecs.CodecError, IndexError, ValueError):  # the end of what can be read
        plain = codecs.decompress(batch.codec_id, body, limits.decompressed_batch, limits.zstd_window)
        while True:
            size, at = read_varint(plain, at)
            yield size
            at += max(size, 0)


def _order_of_partitions(exchange: Exchange) -> bool:
    """Partitions that differ in why they reject the whole request: each side tells the reason of one."""
    if exchange.version >= ONE_BATCH_FROM or exchange.differing() != ("error_code",):
        return False
    if exchange.direct is None or exchange.proxied is None:
        return False
    *earlier, last = STEPS
    cases = [_case(exchange, part) for part in _as_sent(exchange.request)]
    if any(step(cases) is not None for step in earlier):  # which a broker takes in the request's order
        return False
    codes = [reject.error_code for case in cases if (reject := last([case])) is not None]
    return codes[:1] == [exchange.proxied.error_code] and exchange.direct.error_code in codes


def _as_sent(parts: Sequence[Part]) -> list[Part]:
    """The partitions in the order of the request's bytes, where those of a topic are together."""
    topics = list(dict.fromkeys(part.topic for part in parts))
    return sorted(parts, key=lambda part: topics.index(part.topic))


def _case(exchange: Exchange, part: Part) -> BatchContext:
    request = RequestContext(exchange.version, 1, has_transactional_id=False, now_ms=0, peer=NOBODY)
    view, topic = View(), part.topic.config
    policy, work = of_anybody(view).of(topic, 0), Work(view.limits)
    return PartitionReader(request, topic, part.partition, policy, view.limits, work).read(
        memoryview(part.records)
    )


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
    if exchange.direct is None or exchange.proxied is None or exchange.proxied.error_code == ErrorCode.NONE:
        return False
    if not {"record_errors"} <= {*exchange.differing()} <= {"record_errors", "log_start_offset"}:
        return False
    told, named = exchange.direct.record_errors, exchange.proxied.record_errors
    return len(named) < len(told) and told[: len(named)] == named


def _more_partitions_than_any_broker_leads(exchange: Exchange) -> bool:
    return exchange.proxied is None and len(exchange.request) > MOST_PARTITIONS


_OF_TRANSACTIONS: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
)

INTENDED: Final = (
    Difference(
        "log start offset",
        "A rejection carries the partition's log_start_offset (v5+).",
        "-1, the schema's value for unknown.",
        "Only the leader knows it. Clients use it only with UNKNOWN_PRODUCER_ID, which the broker still "
        "sends itself.",
        _only_log_start_offset,
    ),
    Difference(
        "LogAppendTime set by a producer (attribute bit 3) on a CreateTime topic",
        "From 3.6 on, a broker then checks only the header's maxTimestamp, and stores any record timestamp.",
        "INVALID_TIMESTAMP 32 because of the record timestamps, or else because of the bit, with the "
        "broker's text for it.",
        "One bit would let any timestamp pass every limit. Brokers up to 3.5 rejected it, too.",
        _bit_3,
    ),
    Difference(
        "delete horizon set by a producer (attribute bit 6)",
        "Stores the batch unchanged. The cleaner of a compacted topic then reads the base timestamp as a "
        "deadline.",
        "INVALID_RECORD 87, without a text.",
        "Only a broker's cleaner may set it (KIP-534); `extended_timestamps` reads and clears it.",
        _bit_6,
    ),
    Difference(
        "state of a transaction",
        "Asks the transaction coordinator first, and rejects a transaction that it does not know: 19, 47, "
        "48, 49 or 105.",
        "Rejects a batch because of its records, whatever the coordinator would answer.",
        "The proxy does not know what only brokers know: authorization, leadership, topics, producer states.",
        _transaction,
    ),
    Difference(
        "compressed data that is broken, or cut short",
        "Reads as far as it can, and answers 87 if a record before the break is wrong.",
        "-1: it does not judge records of a stream that does not decompress.",
        "The batch is rejected either way and never stored.",
        _broken_stream,
    ),
    Difference(
        "a match that copies data that is not there: in lz4 at offset 0, in zstd from before the frame's "
        "window",
        "Copies whatever its buffer holds. These bytes depend on its version, its native code and its buffer "
        "sizes.",
        "-1: such data does not decompress.",
        "The proxy would judge other timestamps than the broker stores. No compressor writes such a match.",
        _unsound_match,
    ),
    Difference(
        "a size larger than any heap, inside compressed data",
        "Tries to allocate that size, runs out of memory and answers -1. For magic 0 and 1 these are brokers "
        "up to 3.9, for magic 2 topics that compress anew.",
        "Compares the size with the data that is there. A message of magic 0 or 1 ends the set, as a "
        "truncated one does. A record of magic 2 is at fault, as for a broker with a larger heap.",
        "The proxy allocates memory for bytes that it has received, never for announced sizes.",
        _absurd_size,
    ),
    Difference(
        "partitions that reject the whole request for different reasons (Produce v0 to v2)",
        "Answers with the reason of the partition that comes first in its hash map.",
        "Answers with the reason of the partition that comes first in the request.",
        "Every partition is rejected either way, and the order of a hash map is arbitrary.",
        _order_of_partitions,
    ),
    Difference(
        "an unknown codec in one partition, and another partition that the proxy rejects (Produce v3 to v6)",
        "-1 for every partition, if the codec's partition exists and may be written to.",
        "Answers the rejected partition with its own reason, and forwards the others, including the unknown "
        "codec.",
        "A good partition is not rejected because of a codec that the broker may never read.",
        _unknown_codec,
    ),
    Difference(
        "a batch beyond `limits.decompressed_batch`, `limits.records_per_batch` or `limits.zstd_window`; a "
        "batch "
        "that brings its request beyond `limits.decompressed_request` or `limits.records_per_request`",
        "Reads on, as far as its heap allows.",
        "INVALID_RECORD 87 with a message that names the limit and its key, without culprits.",
        "Configuration limits how much a batch and a request may cost, whatever a few bytes of them claim.",
        _own_limit_of_a_batch,
    ),
    Difference(
        "more culprits than `limits.culprits_listed`",
        "Names all of them.",
        "Names the first ones. The decision log counts all.",
        "A small request must not cause a huge answer.",
        _more_culprits_than_are_listed,
    ),
    Difference(
        f"more than {MOST_PARTITIONS:,} partitions in one request",
        "Answers for each.",
        "Closes the connection.",
        "No broker leads so many, and six bytes for each partition would cost hundreds of bytes of memory.",
        _more_partitions_than_any_broker_leads,
    ),
)


def claimed_by(exchange: Exchange) -> Difference | None:
    """The row that says this difference is meant to be; None where none does."""
    return next((row for row in INTENDED if row.claims(exchange)), None)


def as_table() -> str:
    """The table as Markdown, for docs/reference/verdicts.md."""
    rows = [f"| {d.name} | {d.broker} | {d.proxy} | {d.reason} |" for d in INTENDED]
    return "\n".join(["| what | broker | tsproxy | why |", "| --- | --- | --- | --- |", *rows])
