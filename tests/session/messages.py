"""Whole frames for conversations: requests as clients send them, answers as brokers give them."""

import struct

from tests.session.conversation import LIMITS, NOW_MS, id_of
from tsproxy.model.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tsproxy.model.verdict import RecordError
from tsproxy.wire import k00_produce
from tsproxy.wire.apis import APIS
from tsproxy.wire.frames import SIZE_BYTES

ALL_VERSIONS = range(APIS[0].max_version + 1)
"""The bodies of Produce."""

PRODUCE, FETCH, METADATA, FIND_COORDINATOR, HEARTBEAT = 0, 1, 3, 10, 12
SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE, DESCRIBE_CLUSTER, SHARE_FETCH = 17, 18, 36, 60, 78

REJECTED_TEXT = "One or more records have been rejected due to invalid timestamp"


def frame(payload):
    return struct.pack(">i", len(payload)) + payload


def cut_frames(received):
    """Take the whole frames, with their sizes, from the beginning of the bytes."""
    while len(received) >= SIZE_BYTES:
        size = SIZE_BYTES + int.from_bytes(received[:SIZE_BYTES], "big")
        if len(received) < size:
            return
        whole = bytes(received[:size])
        del received[:size]
        yield whole


def request(api_key, version=0, body=b"", correlation_id=1, client_id="app"):
    name = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id)) + client_id.encode()
    tags = b"\x00" if _is_flexible(api_key, version) else b""
    return frame(struct.pack(">hhi", api_key, version, correlation_id) + name + tags + body)


def answer(api_key, version=0, body=b"", correlation_id=1):
    tags = b"\x00" if api_key != API_VERSIONS and _is_flexible(api_key, version) else b""
    return frame(struct.pack(">i", correlation_id) + tags + body)


def _is_flexible(api_key, version):
    return api_key in APIS and APIS[api_key].is_flexible(version)


Entries = list[tuple[str, list[tuple[int, bytes | None]]]]
"""Topics with their partitions and these with their records, each as often as it is to be named."""


def produce(topics, version=9, acks=-1, correlation_id=1, client_id="app", transactional_id=None):
    """`topics`: {name: {partition: record batch, or None}}."""
    entries = [(name, list(partitions.items())) for name, partitions in topics.items()]
    return produce_entries(entries, version, acks, correlation_id, client_id, transactional_id)


def produce_entries(
    entries, version=9, acks=-1, correlation_id=1, client_id="app", transactional_id=None, ids=id_of
):
    """`ids` is asked for the id of each topic from version 13 on."""
    asked = ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=30_000,
        topics=tuple(
            TopicProduceData(
                name,
                tuple(PartitionProduceData(i, data) for i, data in partitions),
                topic_id=ids(name) if version >= 13 else None,
            )
            for name, partitions in entries
        ),
    )
    return request(PRODUCE, version, k00_produce.write_request(version, asked), correlation_id, client_id)


def produced(topics, version=9, correlation_id=1, **more):
    """`topics`: {name: {partition: what the answer says of it, as a dict}}."""
    said = ProduceResponse(
        topics=tuple(
            TopicProduceResponse(
                name,
                tuple(PartitionProduceResponse(i, **facts) for i, facts in partitions.items()),
                topic_id=id_of(name) if version >= 13 else None,
            )
            for name, partitions in topics.items()
        ),
        **more,
    )
    return answer(PRODUCE, version, k00_produce.write_response(version, said), correlation_id)


def accepted(base_offset=0):
    return {"base_offset": base_offset, "log_start_offset": 0}


def out_of_range(timestamp_ms, index=0, now_ms=NOW_MS):
    """(batch_index, the broker's text) for a record that LIMITS reject at that time."""
    earliest, latest = now_ms - LIMITS.before_max_ms, now_ms + LIMITS.after_max_ms
    return (
        index,
        f"Timestamp {timestamp_ms} of message with offset {index} is out of range. "
        f"The timestamp should be within [{earliest}, {latest}]",
    )


def rejected(*errors):
    """INVALID_TIMESTAMP for the records of `errors`: (batch_index, text)."""
    return {
        "error_code": 32,
        "record_errors": tuple(RecordError(*error) for error in errors),
        "error_message": REJECTED_TEXT,
    }
