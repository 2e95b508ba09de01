"""The administrative requests of `tsproxy.testing`. Each goes to one chosen broker.

It uses aiokafka's connection and message structs, with one request and one answer at a time. aiokafka's admin
client (0.14) is not usable here: it sends AlterConfigs in a form that brokers cannot read, and logs an error
for every connection that is rejected while a broker starts. It also lacks IncrementalAlterConfigs (KIP-339).
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.errors import for_code
from aiokafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest, DescribeConfigsRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest

from tsproxy.cluster.raw_request import raw_api
from tsproxy.model.kafka import ApiKey
from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import Reader

_TIMEOUT_MS: Final = 30_000
_TOPIC: Final = 2
_SET: Final = 0
_DELETE: Final = 1
_LATEST: Final = -1
_NO_REPLICA: Final = -1
_READ_UNCOMMITTED: Final = 0
_NONE: Final = 0
_UNKNOWN_TOPIC_OR_PARTITION: Final = 3


_ALTER: Final = raw_api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, "IncrementalAlterConfigs v1")


def _altered(topic: str, config: Mapping[str, str | None]) -> bytes:
    """The body of IncrementalAlterConfigs v1 for one topic. A value of None deletes the config."""
    changes = b"".join(
        put.string(name, True)
        + put.int8(_DELETE if value is None else _SET)
        + put.string(value, True)
        + b"\0"
        for name, value in config.items()
    )
    configs = put.array(len(config), True) + changes + b"\0"
    return put.array(1, True) + put.int8(_TOPIC) + put.string(topic, True) + configs + bytes(2)


class Admin:
    """One plain connection to one broker; `connect` makes it.

    Every method raises aiokafka's KafkaError if the broker answers with an error code, and OSError or
    KafkaConnectionError if it does not answer.
    """

    def __init__(self, connection: AIOKafkaConnection) -> None:
        self._connection = connection

    async def node_ids(self) -> frozenset[int]:
        """The node ids of the brokers that this broker names to its clients."""
        answer = await self._connection.send(MetadataRequest([]))
        return frozenset(broker[0] for broker in answer.brokers)

    async def leaders(self, topic: str) -> dict[int, int] | None:
        """The leader's node id by partition, -1 if a partition has none; None if the topic does not exist."""
        answer = await self._connection.send(MetadataRequest([topic], allow_auto_topic_creation=False))
        (known,) = answer.to_object()["topics"]
        if known["error_code"] == _UNKNOWN_TOPIC_OR_PARTITION:
            return None
        return {partition["partition"]: partition["leader"] for partition in known["partitions"]}

    async def lagging(self) -> frozenset[int]:
        """The nodes that are out of sync with at least one partition of which they have a replica."""
        answer = await self._connection.send(MetadataRequest(None))
        partitions = [p for topic in answer.to_object()["topics"] for p in topic["partitions"]]
        return frozenset().union(*(set(p["replicas"]) - set(p["isr"]) for p in partitions))

    async def create_topic(
        self, name: str, *, partitions: int, replication: int, config: Mapping[str, str]
    ) -> None:
        topics: list[Any] = [(name, partitions, replication, [], list(config.items()))]
        answer = await self._connection.send(CreateTopicsRequest(topics, _TIMEOUT_MS, validate_only=False))
        for error in answer.to_object()["topic_errors"]:
            _raise_if(error["error_code"], error["error_message"])

    async def delete_topic(self, name: str) -> None:
        answer = await self._connection.send(DeleteTopicsRequest([name], _TIMEOUT_MS))
        for error in answer.to_object()["topic_error_codes"]:
            _raise_if(error["error_code"], name)

    async def alter_topic(self, name: str, config: Mapping[str, str | None]) -> None:
        """Sets topic configs. A value of None restores the default."""
        answer = await self._connection.send(_ALTER(_altered(name, config)))
        reader = Reader(answer.body, pos=4)  # behind throttle_time_ms
        assert reader.array(True) == 1, "one topic was altered"
        _raise_if(reader.int16(), reader.nullable_string(True))

    async def topic_config(self, name: str) -> dict[str, str]:
        """All configs of the topic that are in force at this broker, with defaults."""
        answer = await self._connection.send(DescribeConfigsRequest([(_TOPIC, name, None)]))
        (resource,) = answer.to_object()["resources"]
        _raise_if(resource["error_code"], resource["error_message"])
        return {entry["config_names"]: entry["config_value"] for entry in resource["config_entries"]}

    async def end_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The next offset of each partition. Raises KafkaError if this broker does not lead all of them."""
        topics = [(topic, [(partition, _LATEST) for partition in partitions])]
        answer = await self._connection.send(OffsetRequest(_NO_REPLICA, _READ_UNCOMMITTED, topics))
        (answered,) = answer.to_object()["topics"]
        for partition in answered["partitions"]:
            _raise_if(partition["error_code"], f"{topic}-{partition['partition']}")
        return {p["partition"]: p["offset"] for p in answered["partitions"]}


@asynccontextmanager
async def connect(host: str, port: int) -> AsyncIterator[Admin]:
    """A connection to the broker's plain listener. Raises OSError or KafkaError if it cannot connect."""
    connection = await create_conn(host, port, client_id="tsproxy-testing", request_timeout_ms=_TIMEOUT_MS)
    try:
        yield Admin(connection)
    finally:
        await connection.close()


def _raise_if(error_code: int, text: str | None) -> None:
    if error_code != _NONE:
        raise for_code(error_code)(text)
