"""AlterConfigs (key 33), versions 0 to 2, and IncrementalAlterConfigs (key 44), versions 0 and 1: hides the
addresses in error texts.

Source: `AlterConfigsResponse.json`, `IncrementalAlterConfigsResponse.json`, `ConfigResource.java`. Both
answers have the same layout. 33 is flexible from v2 on, 44 from v1 on.

A broker that rejects a change of its own configuration may quote its listeners and those of the controllers:
"Error creating broker listeners from 'PLAINTEXT://broker-1:9092,...'" (`SocketServerConfigs.java`). Such a
text is replaced. The error code and all other texts stay.
"""

import re
from typing import Final

from tsproxy.model.kafka import ApiKey
from tsproxy.wire import primitives as put
from tsproxy.wire.apis import APIS
from tsproxy.wire.k32_describe_configs import WITHOUT_ADDRESSES
from tsproxy.wire.primitives import Reader

REPLACEMENT: Final = (
    "tsproxy has replaced the broker's text, because it contains addresses of brokers. The operators of the "
    "proxy can show such texts: listeners[].addresses_in_configs: pass"
)

_ADDRESS: Final = re.compile(r"://|[\w.\-\]]:\d|\d@")
"""`PLAINTEXT://`, `host:9092`, `[::1]:9092`, `1@host`. A text that only looks as if it had an address is
replaced, too: the client still gets the error code."""


def may_contain_addresses(version: int, request: bytes | memoryview) -> bool:  # noqa: ARG001
    """True: these answers are short, so each is read, whatever was asked."""
    return True


def mask_alter_configs(version: int, reader: Reader) -> bytes:
    """The answer to AlterConfigs without addresses. Everything else stays byte for byte. Raises
    DecodeError."""
    return _masked(reader, APIS[ApiKey.ALTER_CONFIGS].is_flexible(version))


def mask_incremental_alter_configs(version: int, reader: Reader) -> bytes:
    """The same for IncrementalAlterConfigs."""
    return _masked(reader, APIS[ApiKey.INCREMENTAL_ALTER_CONFIGS].is_flexible(version))


def _masked(reader: Reader, flexible: bool) -> bytes:
    out, copied = list[bytes | memoryview](), 0
    reader.skip(4)  # throttle_time_ms
    for _ in range(reader.array(flexible)):
        reader.skip(2)  # error_code
        start = reader.pos
        text = reader.nullable_string(flexible)  # error_message
        end = reader.pos
        has_addresses = reader.int8() not in WITHOUT_ADDRESSES  # resource_type
        if has_addresses and text is not None and _ADDRESS.search(text):
            out += [reader.data[copied:start], put.string(REPLACEMENT, flexible)]
            copied = end
        reader.skip_nullable_string(flexible)  # resource_name
        reader.tags(flexible)
    reader.tags(flexible)
    return b"".join([*out, reader.data[copied:]])
