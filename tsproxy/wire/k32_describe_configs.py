"""DescribeConfigs (key 32), versions 0 to 4: the answer, with the brokers' addresses taken out of it.

Source: `DescribeConfigsResponse.json`. v1 config_source (an int8 where v0 has is_default) and
synonyms · v3 config_type and documentation · v4 flexible.

A broker tells its listeners, and the controllers', as plain strings among its configuration. Their
values become null, which is how brokers answer for a value that is not to be told (a password).
"""

from typing import Final

from tsproxy.wire import primitives as put
from tsproxy.wire.primitives import Reader

FLEXIBLE_FROM: Final = 4

_ADDRESSES: Final = frozenset({"listeners", "advertised.listeners", "controller.quorum.voters"})
_ADDRESSES_END: Final = "bootstrap.servers"
"""`controller.quorum.bootstrap.servers`, and the clients inside a broker (tiered storage) alike."""


def tells_addresses(name: str) -> bool:
    """True for a configuration whose value names brokers or controllers."""
    return name in _ADDRESSES or name.endswith(_ADDRESSES_END)


def mask_addresses(version: int, body: bytes | memoryview) -> bytes:
    """The broker's answer without its addresses; everything else byte for byte."""
    mask = _Mask(version, body)
    mask.results()
    return mask.finish()


class _Mask:
    __slots__ = ("_copied", "_flexible", "_out", "_reader", "_version")

    def __init__(self, version: int, body: bytes | memoryview) -> None:
        self._version = version
        self._flexible = version >= FLEXIBLE_FROM
        self._reader = Reader(body)
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
            reader.nullable_string(flexible)  # error_message
            reader.skip(1)  # resource_type
            reader.string(flexible)  # resource_name
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
            reader.nullable_string(flexible)  # documentation
        reader.tags(flexible)

    def _named_value(self) -> None:
        reader = self._reader
        name = reader.string(self._flexible)
        start = reader.pos
        reader.nullable_string(self._flexible)
        if tells_addresses(name):
            self._out += [reader.data[self._copied : start], put.string(None, self._flexible)]
            self._copied = reader.pos
