"""Kafka's own message schemas, out of the jar of its clients.

    python -m tests.wire.schemas [RELEASE]

lists, for every API of the release (the newest one if none is named), the versions that Kafka has and those
that tsproxy knows. Then it lists what is new since KNOWN: APIs, versions and fields. Run it when a release of
Kafka comes out.
"""

import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tsproxy.testing.jars import Dependency, fetch_kafka_jars, fetch_newest
from tsproxy.wire.apis import APIS, NEVER

KNOWN = "4.4.0"
"""The release whose schemas the tests compare with the tables of `wire`."""

LOOKS_LIKE_AN_ADDRESS = re.compile(r"(Host|Port|Endpoint|Listener|Address|Url|Uri)(?![a-rt-z])")
"""A word of a field's name, in the singular or plural: `UserEndpoints`, not `SupportedFeatures`."""


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
def messages(release=KNOWN):
    """{(API key, "request" or "response"): schema} of every message that has an API key."""
    (jar,) = fetch_kafka_jars(release).glob(f"kafka-clients-{release}.jar")
    return messages_in(jar)


def messages_in(jar):
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

    return inside(schema.get("fields", ()), [])


# -- What a release of Kafka has, and what tsproxy knows --------------------------------------------


def versions_table(found):
    """Lines: key, name, the versions of Kafka and of tsproxy, and what is missing."""
    for (api_key, kind), schema in sorted(found.items()):
        if kind != "request":
            continue
        valid = Versions.of(schema["validVersions"])
        api = APIS.get(api_key)
        offered = valid.until - bool(schema.get("latestVersionUnstable"))
        if valid.since == NEVER:
            remark = "no version is left"
        elif "broker" not in schema.get("listeners", ()):
            remark = "not on a broker's listener"
        elif api is None:
            remark = "NOT KNOWN"
        elif offered > api.max_version:
            remark = f"NOT KNOWN: {_span(api.max_version + 1, offered)}"
        else:
            remark = "known"
        if offered < valid.until:
            remark += f", {valid.until} is unstable"
        kafkas = "-" if valid.since == NEVER else _span(valid.since, valid.until)
        ours = "-" if api is None else _span(0, api.max_version)
        yield f"{api_key:3} {schema['name'].removesuffix('Request'):39}{kafkas:7}{ours:9}{remark}"


def news(older, newer):
    """Lines: what `newer` has and `older` has not, by API; fields that may hold an address are marked."""
    for (api_key, kind), schema in sorted(newer.items()):
        before = older.get((api_key, kind))
        if before is None:
            yield f"{api_key:3} {schema['name']}: new"
            continue
        was, now = before["validVersions"], schema["validVersions"]
        if was != now:
            yield f"{api_key:3} {schema['name']}: versions {was} -> {now}"
        for path, facts in sorted(_fields(schema) - _fields(before)):
            mark = "  LOOKS LIKE AN ADDRESS" if LOOKS_LIKE_AN_ADDRESS.search(path.rpartition(".")[2]) else ""
            yield f"{api_key:3} {schema['name']}: {path} {facts}{mark}"
    for api_key, kind in sorted(older.keys() - newer.keys()):
        yield f"{api_key:3} {older[api_key, kind]['name']}: gone"


def _fields(schema):
    """(path, type and versions) of every field."""
    return {
        (path, " ".join(f"{word} {field[word]}" for word in ("type", "versions", "tag") if word in field))
        for path, field in walk(schema, NEVER)
    }


def _span(first, last):
    return str(first) if first == last else f"{first}-{last}"


def main(arguments: Sequence[str]) -> int:
    release = arguments[0] if arguments else "latest.release"
    with tempfile.TemporaryDirectory() as folder:
        jars = Path(folder)
        fetch_newest("kafka-clients", [Dependency("org.apache.kafka", "kafka-clients", release, False)], jars)
        (jar,) = jars.glob("kafka-clients-*.jar")
        found, name = messages_in(jar), jar.stem.removeprefix("kafka-clients-")
    print(f"key {'API':39}{name:7}tsproxy")
    print(*versions_table(found), sep="\n")
    print(f"\nNew in {name} since {KNOWN}:")
    print(*(list(news(messages(KNOWN), found)) or ["nothing"]), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
