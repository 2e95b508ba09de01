"""Any message of any API, made of kio's generated classes: an oracle that shares nothing with `wire`.

kio is generated from Kafka's own message schemas. It keeps no unknown tagged fields, so `encode`
writes them: the same bytes as kio's for a message without tags, with `tags` at the end of every
struct where asked. A test holds the two against each other.
"""

import io
import struct
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import strategies as st
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_reader, entity_writer

from tests.wire.batches import unsigned
from tests.wire.strategies import integers, tuples_of
from tsproxy.wire.apis import APIS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def versions_of(api_key):
    """The versions of this API that the proxy and kio know: kio is behind Kafka."""
    known = schema_name_map[api_key_map[api_key]] if api_key in api_key_map else ()
    return [version for version in sorted(known) if version <= APIS[api_key].max_version]


def understood_responses(api_keys=APIS):
    """(API key, version, kio's class) of each answer of these APIs that may come in the versions offered.

    To load the classes of all APIs takes seconds, so a module does not do so when it is imported.
    """
    for api_key in api_keys:
        for version in versions_of(api_key):
            yield api_key, version, load_response_schema(api_key, version)


def each_response(api_keys):
    """Parametrises a test with each answer of these APIs."""
    rows = {f"{told[2].__name__} v{told[1]}": told for told in understood_responses(api_keys)}
    return pytest.mark.parametrize(("api_key", "version", "cls"), rows.values(), ids=rows)


def written(entity):
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def read(cls, data):
    entity, size = entity_reader(cls)(bytes(data), 0)
    assert size == len(data), f"{len(data) - size} bytes are left"
    return entity


# -- Strategies -------------------------------------------------------------------------------------


_texts = st.one_of(st.text(max_size=6), st.sampled_from(["é" * 70, "\x00", "x" * 200]))
_milliseconds = st.integers(0, 2**31 - 1).map(lambda ms: timedelta(milliseconds=ms))

_BY_KAFKA_TYPE = {
    "error_code": st.sampled_from(ErrorCode),
    "int8": integers(8),
    "int16": integers(16),
    "int32": integers(32),
    "int64": integers(64),
    "uint16": st.integers(0, 2**16 - 1),
    "bool": st.booleans(),
    "string": _texts,
    "bytes": st.binary(max_size=200),
    "records": st.binary(max_size=200),
    "uuid": st.one_of(st.none(), st.uuids()),
    "timedelta_i32": _milliseconds,
    "timedelta_i64": _milliseconds,
    "datetime_i64": _milliseconds.map(lambda elapsed: _EPOCH + elapsed),
}


@cache
def entities(cls):
    """Any message that kio can hold."""
    hints = get_type_hints(cls)
    return st.builds(
        cls, **{f.name: _values(hints[f.name], f.metadata.get("kafka_type")) for f in fields(cls)}
    )


def _values(hint, kafka_type):
    if get_origin(hint) in (UnionType, Union) and type(None) in get_args(hint) and kafka_type != "uuid":
        (inner,) = (kind for kind in get_args(hint) if kind is not type(None))
        return st.one_of(st.none(), _values(inner, kafka_type))
    if get_origin(hint) is tuple:
        return tuples_of(_values(get_args(hint)[0], kafka_type))
    return entities(hint) if is_dataclass(hint) else _BY_KAFKA_TYPE[kafka_type]


# -- Every address, wherever it stands --------------------------------------------------------------


def with_addresses(entity, address_of):
    """`entity` with each (node id, host, port) replaced by (host, port) = address_of(node id, host, port)."""
    changed = {}
    for f in fields(entity):
        value = getattr(entity, f.name)
        if is_dataclass(value):
            changed[f.name] = with_addresses(value, address_of)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            changed[f.name] = tuple(with_addresses(item, address_of) for item in value)
    node_id = getattr(entity, "node_id", getattr(entity, "broker_id", None))
    if node_id is not None and hasattr(entity, "host"):
        changed["host"], changed["port"] = address_of(node_id, entity.host, entity.port)
    return replace(entity, **changed)


def addresses_in(entity):
    """Each (node id, host, port) in `entity`."""
    found = []
    with_addresses(entity, lambda *address: found.append(address) or address[1:])
    return found


# -- A writer that puts tags at the end of every struct ---------------------------------------------


def encode(entity, tags=b"\x00"):
    """For messages whose schema has no tagged fields of its own."""
    flexible = type(entity).__flexible__
    parts = []
    for f in fields(entity):
        assert "tag" not in f.metadata, f"{type(entity)} has tagged fields of its own"
        parts.append(_encoded(getattr(entity, f.name), f.metadata.get("kafka_type"), flexible, tags))
    return b"".join(parts) + (tags if flexible else b"")


_FORMATS = {"int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q", "error_code": ">h", "bool": ">?"}
_LENGTHS = {"string": ">h", "bytes": ">i", "records": ">i", None: ">i"}


def _encoded(value, kafka_type, flexible, tags):
    if isinstance(value, tuple):
        items = b"".join(_encoded(item, kafka_type, flexible, tags) for item in value)
        return _length(len(value), None, flexible) + items
    if is_dataclass(value):
        return encode(value, tags)
    if kafka_type in _FORMATS:
        return struct.pack(_FORMATS[kafka_type], getattr(value, "value", value))
    if kafka_type == "timedelta_i32":
        return struct.pack(">i", value // timedelta(milliseconds=1))
    if kafka_type == "uuid":
        return bytes(16) if value is None else value.bytes
    if value is None:
        return _length(-1, kafka_type, flexible)
    raw = value.encode() if isinstance(value, str) else value
    return _length(len(raw), kafka_type, flexible) + raw


def _length(size, kafka_type, flexible):
    return unsigned(size + 1) if flexible else struct.pack(_LENGTHS[kafka_type], size)
