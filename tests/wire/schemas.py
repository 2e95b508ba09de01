"""Kafka's own message schemas, out of the jar of its clients."""

import json
import re
import zipfile
from dataclasses import dataclass
from functools import cache

from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.wire.apis import NEVER


@dataclass(frozen=True)
class Versions:
    """`0+` or `1-3` or `none`: from, up to and including; NEVER where there is no end."""

    since: int
    until: int

    @classmethod
    def of(cls, text):
        if text == "none":
            return cls(NEVER, NEVER)
        since, _, until = text.partition("-")
        return cls(int(since.rstrip("+")), NEVER if since.endswith("+") else int(until or since))

    def __contains__(self, version):
        return self.since <= version <= self.until


@cache
def messages(release="4.3.1"):
    """{(API key, "request" or "response"): schema} of every message that has an API key."""
    (jar,) = fetch_kafka_jars(release).glob(f"kafka-clients-{release}.jar")
    found = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"common/message/\w+\.json", name):
                schema = json.loads(re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE))
                if "apiKey" in schema and schema["type"] in ("request", "response"):
                    found[schema["apiKey"], schema["type"]] = schema
    return found


def fields_of(field, schema):
    """The fields inside `field`, whether they stand there or among the message's common structs."""
    kind = field["type"].removeprefix("[]")
    common = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", ())}
    return field.get("fields") or common.get(kind, ())


def walk(schema, newest):
    """(path, field) of every field up to version `newest`, the outer one first: `Brokers`, `Brokers.Host`."""

    def inside(fields, path):
        for field in fields:
            if Versions.of(field["versions"]).since <= newest:
                yield ".".join([*path, field["name"]]), field
                yield from inside(fields_of(field, schema), [*path, field["name"]])

    return inside(schema["fields"], [])
