"""Messages of any API and version, valid by Kafka's own schemas and with values by chance: `body_of`."""

import struct
from random import Random

from tests.wire.batches import unsigned
from tests.wire.schemas import Versions, fields_of, messages
from tsproxy.wire.addresses import LAYOUTS
from tsproxy.wire.masking import MASKED

LEAK = b"127.66.0."
"""The hosts of brokers begin so. No client may get such a name."""
HOSTS = (b"127.66.0.1", b"127.66.0.2", b"127.66.0.3")
NAMING = frozenset({*LAYOUTS, *MASKED, 0, 1})
"""The APIs whose answers may name brokers. Hosts in the others are those of clients."""
SCALARS = {
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}
NODE_IDS = ("NodeId", "BrokerId", "LeaderId", "ControllerId", "ReplicaId")


def body_of(api_key: int, kind: str, version: int, draws: Random, port: int = 9_092) -> bytes:
    """The body of a request or a response. Fields that name brokers have LEAK in them."""
    return _Message(messages()[api_key, kind], version, draws, port).body()


def is_flexible(api_key: int, kind: str, version: int) -> bool:
    return version in Versions.of(messages()[api_key, kind]["flexibleVersions"])


class _Message:
    def __init__(self, schema, version: int, draws: Random, port: int) -> None:
        self._schema, self._version, self._draws, self._port = schema, version, draws, port
        self._is_flexible = version in Versions.of(schema["flexibleVersions"])

    def body(self) -> bytes:
        return self._struct(self._schema["fields"], 0)

    def _struct(self, fields, depth: int) -> bytes:
        plain, tagged = b"", {}
        for field in fields:
            if self._version not in Versions.of(field["versions"]):
                continue
            if self._version in Versions.of(field.get("taggedVersions", "none")):
                if self._draws.random() < 0.5:
                    tagged[field["tag"]] = self._value(field, field["type"], depth)
            else:
                plain += self._value(field, field["type"], depth)
        if self._is_flexible:
            plain += unsigned(len(tagged))
            for tag, value in sorted(tagged.items()):
                plain += unsigned(tag) + unsigned(len(value)) + value
        return plain

    def _value(self, field, kind: str, depth: int) -> bytes:
        draws, may_be_null = self._draws, self._version in Versions.of(field.get("nullableVersions", "none"))
        is_null = may_be_null and draws.random() < 0.1
        if kind.startswith("[]"):
            count = -1 if is_null else draws.choice((0, 1, 1, 2) if depth else (1, 1, 2, 3))
            return self._size(count) + b"".join(self._value(field, kind[2:], depth + 1) for _ in range(count))
        if kind == "bool":
            return draws.choice((b"\x00", b"\x01"))
        if kind in SCALARS:
            return struct.pack(">" + SCALARS[kind], self._number(field["name"], kind))
        if kind == "uuid":
            return draws.randbytes(16)
        if kind == "string":
            return self._sized(None if is_null else self._text(field["name"]), ">h")
        if kind in ("bytes", "records"):
            return self._sized(None if is_null else draws.randbytes(draws.choice((0, 5, 100))), ">i")
        inner = self._struct(fields_of({**field, "type": kind}, self._schema), depth + 1)
        return b"\xff" if is_null else (b"\x01" + inner if may_be_null else inner)

    def _number(self, name: str, kind: str) -> float:
        if name == "Port":
            return self._port
        if name in NODE_IDS:
            return self._draws.choice((1, 2, 3, 7))
        if name == "ErrorCode":
            return self._draws.choice((0, 0, 0, 0, 3, 6, 29, 35, 100))
        if name == "ThrottleTimeMs":
            return self._draws.choice((0, 0, 5))
        limit = 100 if kind in ("int8", "int16") else 1_000_000
        return self._draws.choice((0, 1, self._draws.randrange(limit)))

    def _text(self, name: str) -> bytes:
        if name == "Host":
            return self._draws.choice(HOSTS) if self._schema["apiKey"] in NAMING else b"of-a-client"
        return self._draws.choice((b"t", b"t", b"", b"SOME-NAME", "käse".encode()))

    def _size(self, size: int) -> bytes:
        return unsigned(size + 1) if self._is_flexible else struct.pack(">i", size)

    def _sized(self, data: bytes | None, plain: str) -> bytes:
        size = -1 if data is None else len(data)
        return (unsigned(size + 1) if self._is_flexible else struct.pack(plain, size)) + (data or b"")
