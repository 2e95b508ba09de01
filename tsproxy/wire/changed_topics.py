"""The topics that an answer says were changed: `changed_topics`.

Source: `AlterConfigsResponse.json` (key 33), `IncrementalAlterConfigsResponse.json` (44),
`CreateTopicsResponse.json` (19), `DeleteTopicsResponse.json` (20).

19: v1 error_message · v2 throttle_time_ms · v5 flexible, and the topic's configuration · v7 topic_id
20: v1 throttle_time_ms · v4 flexible · v5 error_message · v6 topic_id, and name may be null
33: v2 flexible · 44: v1 flexible
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tsproxy.model.kafka import ApiKey, ErrorCode
from tsproxy.wire.apis import APIS
from tsproxy.wire.k32_describe_configs import TOPIC
from tsproxy.wire.primitives import Reader


def changed_topics(api_key: int, version: int, reader: Reader) -> frozenset[str]:
    """The topics for which the answer has no error; empty for any other API. A request that was only to be
    validated counts as well. Raises DecodeError, and what the reader raises."""
    read = CHANGES.get(api_key)
    if read is None:
        return frozenset()
    flexible = APIS[api_key].is_flexible(version)
    changed = frozenset(filter(None, read(reader, version, flexible)))  # topics have a name
    reader.tags(flexible)
    return changed


def _altered(reader: Reader, version: int, flexible: bool) -> Iterator[str | None]:  # noqa: ARG001 # a column
    reader.skip(4)  # throttle_time_ms
    for _ in range(reader.array(flexible)):
        error_code = reader.int16()
        reader.skip_nullable_string(flexible)  # error_message
        resource_type, name = reader.int8(), reader.nullable_string(flexible)
        reader.tags(flexible)
        if error_code == ErrorCode.NONE and resource_type == TOPIC:
            yield name


def _created(reader: Reader, version: int, flexible: bool) -> Iterator[str | None]:
    reader.skip(4 if version >= 2 else 0)  # throttle_time_ms
    for _ in range(reader.array(flexible)):
        name = reader.string(flexible)
        reader.skip(16 if version >= 7 else 0)  # topic_id
        error_code = reader.int16()
        if version >= 1:
            reader.skip_nullable_string(flexible)  # error_message
        if version >= 5:
            reader.skip(6)  # num_partitions, replication_factor
            for _ in range(reader.nullable_array(flexible) or 0):
                reader.skip_nullable_string(flexible)  # name
                reader.skip_nullable_string(flexible)  # value
                reader.skip(3)  # read_only, config_source, is_sensitive
                reader.tags(flexible)
        reader.tags(flexible)
        if error_code == ErrorCode.NONE:
            yield name


def _deleted(reader: Reader, version: int, flexible: bool) -> Iterator[str | None]:
    reader.skip(4 if version >= 1 else 0)  # throttle_time_ms
    for _ in range(reader.array(flexible)):
        name = reader.nullable_string(flexible)
        reader.skip(16 if version >= 6 else 0)  # topic_id
        error_code = reader.int16()
        if version >= 5:
            reader.skip_nullable_string(flexible)  # error_message
        reader.tags(flexible)
        if error_code == ErrorCode.NONE:
            yield name


CHANGES: Final[Mapping[int, Callable[[Reader, int, bool], Iterator[str | None]]]] = {
    ApiKey.ALTER_CONFIGS: _altered,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _altered,
    ApiKey.CREATE_TOPICS: _created,
    ApiKey.DELETE_TOPICS: _deleted,
}
