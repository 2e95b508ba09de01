"""ListOffsets v7 against an independent library's layout."""

from datetime import timedelta

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v7 import request as asked
from kio.schema.list_offsets.v7 import response as told
from kio.static.primitive import i32, i32Timedelta, i64

from tests.wire.entities import read, written
from tsproxy.wire.k02_list_offsets import PartitionOffset, read_response, write_request
from tsproxy.wire.primitives import DecodeError

EMPTY = (-1, -1)
TIMES = {("orders", 0): (1_700_000_000_000, 7), ("orders", 4): EMPTY, ("clicks", 1): (2**63 - 1, 2**40)}


def response():
    """The bytes of an answer about TIMES, each partition's error code its own number."""

    def partition(index, times):
        return told.ListOffsetsPartitionResponse(
            partition_index=i32(index),
            error_code=ErrorCode(index),
            timestamp=i64(times[0]),
            offset=i64(times[1]),
        )

    topics = tuple(
        told.ListOffsetsTopicResponse(
            name=name, partitions=tuple(partition(p, times) for (t, p), times in TIMES.items() if t == name)
        )
        for name in dict.fromkeys(topic for topic, _ in TIMES)
    )
    return written(told.ListOffsetsResponse(throttle_time=i32Timedelta.parse(timedelta()), topics=topics))


def test_a_request_asks_each_partition_for_its_largest_timestamp():
    request = read(asked.ListOffsetsRequest, write_request({"orders": [0, 4], "clicks": [1]}))
    assert (request.replica_id, request.isolation_level) == (-1, 0)
    assert [(t.name, [p.partition_index for p in t.partitions]) for t in request.topics] == [
        ("orders", [0, 4]),
        ("clicks", [1]),
    ]
    assert {(p.current_leader_epoch, p.timestamp) for t in request.topics for p in t.partitions} == {(-1, -3)}


def test_an_answer_is_read_partition_by_partition():
    assert read_response(response()) == [
        PartitionOffset(topic, partition, partition, *times) for (topic, partition), times in TIMES.items()
    ]


def test_an_answer_cut_anywhere_is_rejected():
    whole = response()
    for size in range(len(whole)):
        with pytest.raises(DecodeError):
            read_response(whole[:size])
