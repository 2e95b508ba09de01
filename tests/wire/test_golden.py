"""Bytes that Kafka's own classes wrote: Produce field by field, and batches.

All other messages are compared with kio's, at each version that it knows."""

import subprocess

import pytest

from tests.wire.batches import CODECS, batch, record
from tests.wire.golden import GOLDEN, LINES, golden
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.produce import (
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tsproxy.model.records import RecordBatch, RecordSet
from tsproxy.model.verdict import RecordError
from tsproxy.model.view import SessionLimits
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.java import find_java
from tsproxy.wire import k00_produce, k18_api_versions
from tsproxy.wire.record_batch import crc_is_valid, read_records
from tsproxy.wire.record_set import scan

TIME_MS = 1_767_225_600_000


def table(*names):
    """One parametrised case for each golden line of these names."""
    rows = [(name, version, data) for name in names for version, data in golden(name).items()]
    assert rows, f"no golden lines: {names}"
    return pytest.mark.parametrize(
        ("name", "version", "data"), rows, ids=[f"{name} v{version}" for name, version, _ in rows]
    )


@pytest.mark.broker
@pytest.mark.full_only("starts Java for bytes of 4.3.1, which stay as they are; all tests below read them")
def test_the_golden_bytes_are_what_kafkas_classes_write():
    """gzip is compared by its reader alone: its compressor is the machine's, not Kafka's."""
    program = __file__.replace("test_golden.py", "Golden.java")
    command = [find_java().executable, "-cp", f"{fetch_kafka_jars('4.3.1')}/*", program]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    kept = [line for line in LINES if not line.startswith("#")]
    assert _but_gzip(printed) == _but_gzip(kept)


def _but_gzip(lines):
    return [line for line in lines if not line.startswith("record_batch gzip")]


# -- Produce ----------------------------------------------------------------------------------------

NOUNS = {
    "produce_request": ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=30_000,
        topics=(TopicProduceData("t", (PartitionProduceData(3, memoryview(GOLDEN["record_batch none"])),)),),
    ),
    "produce_response accepted": ProduceResponse(
        (TopicProduceResponse("t", (PartitionProduceResponse(0, base_offset=42, log_start_offset=0),)),)
    ),
    "produce_response rejected": ProduceResponse(
        (
            TopicProduceResponse(
                "t",
                (
                    PartitionProduceResponse(
                        3,
                        ErrorCode.INVALID_TIMESTAMP,
                        record_errors=(RecordError(1, "m"),),
                        error_message="One or more records have been rejected due to invalid timestamp",
                    ),
                ),
            ),
        )
    ),
    "produce_response moved": ProduceResponse(
        (
            TopicProduceResponse(
                "t",
                (
                    PartitionProduceResponse(
                        0,
                        ErrorCode.NOT_LEADER_OR_FOLLOWER,
                        tags=bytes.fromhex("01 00 09 00000002 00000005 00"),
                    ),
                ),
            ),
        ),
        node_endpoints=(NodeEndpoint(2, "b2", 9092, None),),
    ),
}

each_produce = table(*NOUNS)


def reader_and_writer(name):
    if name == "produce_request":
        return k00_produce.read_request, k00_produce.write_request
    return k00_produce.read_response, k00_produce.write_response


@each_produce
def test_a_noun_is_written_as_kafka_writes_it(name, version, data):
    _, write = reader_and_writer(name)
    assert write(version, NOUNS[name]) == data


@each_produce
def test_kafkas_bytes_are_read_as_the_noun(name, version, data):
    """Below v8 an answer does not carry all that its noun holds."""
    read, write = reader_and_writer(name)
    noun = read(version, data)
    assert write(version, noun) == data
    if version >= 8:
        assert write(12, noun) == write(12, NOUNS[name])


# -- ApiVersions -------------------------------------------------------------------------------------


def test_our_answer_to_an_unsupported_api_versions_is_kafkas():
    """The golden one says that 4 is the newest; ours knows 5 (KIP-1242), which 4.3.1 does not speak yet."""
    golden = GOLDEN["api_versions_response unsupported v0"]
    assert golden.endswith(b"\x00\x04")
    assert k18_api_versions.unsupported_version_response() == golden[:-1] + b"\x05"


# -- Record batches ---------------------------------------------------------------------------------

BATCHES = {name: GOLDEN[f"record_batch {name}"] for name in CODECS}

each_batch = pytest.mark.parametrize(("codec", "data"), BATCHES.items(), ids=BATCHES)


@each_batch
def test_a_batch_is_read_whatever_its_codec(codec, data):
    found = scan(memoryview(data), most=2)
    crc = int.from_bytes(data[17:21], "big")
    header = RecordBatch(
        base_offset=0,
        size_in_bytes=len(data),
        magic=2,
        crc=crc,
        attributes=CODECS[codec],
        last_offset_delta=1,
        base_timestamp=TIME_MS,
        max_timestamp=TIME_MS + 5,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=2,
        data=memoryview(data),
    )
    assert found == RecordSet(is_null=False, batches=(header,))
    assert crc_is_valid(found.batches[0])
    records = read_records(found.batches[0], SessionLimits())
    columns = records.timestamps_ms, records.offset_deltas, records.key_sizes, records.value_sizes
    assert records.fault is None
    assert [*map(list, columns)] == [[TIME_MS, TIME_MS + 5], [0, 1], [1, -1], [1, 1]]


def test_the_batches_of_these_tests_are_as_kafka_writes_them():
    records = [record(0, 0, b"k", b"v"), record(5, 1, None, b"w")]
    assert batch(records=records, base_timestamp=TIME_MS, max_timestamp=TIME_MS + 5) == BATCHES["none"]
