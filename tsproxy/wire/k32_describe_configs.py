"""DescribeConfigs (key 32), versions 0 to 4: hides the addresses in a broker's configuration.

Source: `DescribeConfigsRequest.json`, `DescribeConfigsResponse.json`, `ConfigResource.java`. v1
config_source (an int8 where v0 has is_default) and synonyms · v3 config_type and documentation ·
v4 flexible.

A broker's configuration contains its listeners and the controllers' listeners as plain strings. These values
become null. Brokers answer null for a secret value (a password), too. The configurations of topics, groups
and client metrics have no such values, and the synonyms of a topic's configuration have none either.
"""

from typing import Final

from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import DecodeError, Reader

FLEXIBLE_FROM: Final = 4

_ADDRESSES: Final = frozenset(
    {
        *("listeners", "advertised.listeners", "controller.quorum.voters"),
        # Until Kafka 2.8 and 3.9:
        *("host.name", "port", "advertised.host.name", "advertised.port"),
        "zookeeper.connect",
    }
)
_ADDRESSES_END: Final = "bootstrap.servers"
"""The end of other keys with addresses: `controller.quorum.bootstrap.servers`, and the `bootstrap.servers` of
clients inside a broker (tiered storage)."""


TOPIC: Final = 2
_CLIENT_METRICS: Final = 16
_GROUP: Final = 32
WITHOUT_ADDRESSES: Final = frozenset({TOPIC, _CLIENT_METRICS, _GROUP})
"""Types of resources without addresses. BROKER (4) has addresses. BROKER_LOGGER (8) and future types may have
addresses."""

MAX_KEYS_READ: Final = 5_000
"""The most resources and keys that are read of one request. Reading them takes some milliseconds. A frame may
have two million."""


def may_contain_addresses(version: int, body: bytes | memoryview) -> bool:
    """True if the answer to this request may contain addresses.

    Also True for a request that cannot be read (the broker will reject it), and for a request above
    MAX_KEYS_READ.
    """
    try:
        return _names_others(version >= FLEXIBLE_FROM, Reader(body))
    except DecodeError:
        return True


def _names_others(flexible: bool, reader: Reader) -> bool:
    left = MAX_KEYS_READ
    for _ in range(reader.array(flexible)):
        if reader.int8() not in WITHOUT_ADDRESSES:
            return True
        reader.skip_nullable_string(flexible)  # resource_name
        keys = reader.nullable_array(flexible) or 0
        left -= 1 + keys
        if left < 0:
            return True
        for _ in range(keys):
            reader.skip_nullable_string(flexible)
        reader.tags(flexible)
    return False


def contains_addresses(name: str) -> bool:
    """True if the value of this configuration names brokers or controllers."""
    return name in _ADDRESSES or name.endswith(_ADDRESSES_END)


def mask_addresses(version: int, reader: Reader) -> bytes:
    """The broker's answer without its addresses. Everything else stays byte for byte."""
    mask = _Mask(version, reader)
    mask.results()
    return mask.finish()


class _Mask:
    __slots__ = ("_copied", "_flexible", "_out", "_reader", "_version")

    def __init__(self, version: int, reader: Reader) -> None:
        self._version = version
        self._flexible = version >= FLEXIBLE_FROM
        self._reader = reader
        self._out: list[bytes | memoryview] = []
        self._copied = 0

    def finish(self) -> bytes:
        self._out.append(self._reader.data[self._copied :])
        return b"".join(self._out)

    def results(self) -> None:
        reader, flexible = self._reader, self._flexible
        reader.skip(4)  # throttle_time_ms
        for _ in range(reader.array(flexible)):
            reader.skip(2)  # error_code
            reader.skip_nullable_string(flexible)  # error_message
            reader.skip(1)  # resource_type
            reader.skip_nullable_string(flexible)  # resource_name
            for _ in range(reader.array(flexible)):
                self._config()
            reader.tags(flexible)
        reader.tags(flexible)

    def _config(self) -> None:
        reader, flexible = self._reader, self._flexible
        self._named_value()
        reader.skip(3)  # read_only, config_source, is_sensitive
        if self._version >= 1:
            for _ in range(reader.array(flexible)):
                self._named_value()
                reader.skip(1)  # source
                reader.tags(flexible)
        if self._version >= 3:
            reader.skip(1)  # config_type
            reader.skip_nullable_string(flexible)  # documentation
        reader.tags(flexible)

    def _named_value(self) -> None:
        reader = self._reader
        name = reader.string(self._flexible)
        start = reader.pos
        reader.skip_nullable_string(self._flexible)
        if contains_addresses(name):
            self._out += [reader.data[self._copied : start], put.string(None, self._flexible)]
            self._copied = reader.pos
