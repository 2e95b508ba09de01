"""Kafka's own message schemas, out of the jar of its clients, and what is new in a release.

    python -m tests.wire.schemas [RELEASE [SINCE]]

lists, for every API of the release (the newest one if none is named), the versions that Kafka has and those
that tsproxy knows. Then it lists what is new since another release (KNOWN if none is named): APIs, versions,
fields, error codes, settings of topics, methods of the classes that decide about a batch. It ends with the
places here that must change. Run it when a release of Kafka comes out (`make kafka`).
"""

import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.wire.release import changed_methods, facts_of
from tsproxy.testing.jars import Dependency, fetch_kafka_jars, fetch_newest
from tsproxy.wire.addresses import LAYOUTS
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


def to_do(older, newer):
    """(what, where) for each change that a newer release asks for, by its message schemas."""
    layouts = {
        0: "wire/k00_produce.py, and NEWEST_PRODUCE of fastpath/_native",
        1: "wire/readers/streamed.py",
        78: "wire/readers/streamed.py",
    }
    layouts |= dict.fromkeys(LAYOUTS, "the layout in wire/addresses.py")
    for (api_key, kind), schema in sorted(newer.items()):
        offered, before = _offered(schema), older.get((api_key, kind))
        is_served = kind == "request" and "broker" in schema.get("listeners", ())
        known = -1 if before is None else _offered(before)
        if is_served and offered > known:
            name = f"{schema['name'].removesuffix('Request')} {_span(known + 1, offered)}"
            yield name, "its row in wire/apis.py"
            if api_key in layouts:
                yield name, layouts[api_key]
    for (api_key, kind), schema in sorted(newer.items()):
        if kind == "response" and "broker" in newer[api_key, "request"].get("listeners", ()):
            before = older.get((api_key, kind), {})
            for path in sorted(_texts(schema) - _texts(before)):
                yield f"{schema['name']}: {path}", "may it name a host? tests/wire/test_host_fields.py"


def _offered(schema):
    """The newest version that is stable, -1 for none."""
    valid = Versions.of(schema["validVersions"])
    return -1 if valid.since == NEVER else valid.until - bool(schema.get("latestVersionUnstable"))


def _texts(schema):
    return {path for path, field in walk(schema, NEVER) if may_name_a_host(field)}


def may_name_a_host(field):
    """True for any text, and for what is called host, port, endpoint, listener, address or URL."""
    is_text = field["type"].removeprefix("[]") in ("string", "bytes", "records")
    return is_text or bool(LOOKS_LIKE_AN_ADDRESS.search(field["name"]))


def beside_messages(older, newer):
    """(what, where) for each change in error codes and settings (`release.Facts`)."""
    for code, (name, is_retriable) in sorted(newer.errors.items() - older.errors.items()):
        yield f"error {code} {name}", "ErrorCode in model/kafka.py"
        if is_retriable:
            yield f"error {code} {name}", "RETRIABLE in model/sent_again.py"
    for name in sorted(older.settings.keys() | newer.settings):
        was, now = (facts.settings.get(name, "not there") for facts in (older, newer))
        if was != now:
            yield (
                f"topic setting {name}: {was} -> {now}",
                "does a verdict depend on it? CONFIG_NAMES and as_kafka_4 in cluster/topic_limits.py",
            )


def the_release_itself(name):
    yield f"Kafka {name}", "KNOWN in tests/wire/schemas.py"
    yield f"Kafka {name}", "DEFAULT_VERSION in tsproxy/testing/kafka_cluster.py, and deploy/compose.yaml"
    yield (
        f"Kafka {name}",
        "a fixture in conftest.py, RELEASES in tests/model, tests/wire and tests/clients",
    )


def _jars_of(release: str, folder: Path) -> str:
    """Fetches what is compared. Returns the release's name."""
    names = ("kafka-clients", "kafka-storage", "kafka-server-common")
    fetch_newest("kafka", [Dependency("org.apache.kafka", name, release, False) for name in names], folder)
    slf4j = Dependency("org.slf4j", "slf4j-api", "1.7.36", False)
    with tempfile.TemporaryDirectory() as extra:
        fetch_newest("slf4j", [slf4j], Path(extra))
        for jar in Path(extra).glob("*.jar"):
            shutil.copy(jar, folder)
    (jar,) = folder.glob("kafka-clients-*.jar")
    return jar.stem.removeprefix("kafka-clients-")


def main(arguments: Sequence[str]) -> int:
    release, since = [*arguments, *("RELEASE", KNOWN)[len(arguments) :]]
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        old, new = Path(first), Path(second)
        _jars_of(since, old)
        name = _jars_of(release, new)
        (old_clients,), (new_clients,) = old.glob("kafka-clients-*.jar"), new.glob("kafka-clients-*.jar")
        older, newer = messages_in(old_clients), messages_in(new_clients)
        methods = list(changed_methods(old, new))
        beside = list(beside_messages(facts_of(old), facts_of(new)))
    print(f"key {'API':39}{name:7}tsproxy")
    print(*versions_table(newer), sep="\n")
    print(f"\nNew in the messages of {name} since {since}:")
    print(*(list(news(older, newer)) or ["nothing"]), sep="\n")
    print(f"\nMethods of the verdict that are not those of {since} (read them with javap -p -c):")
    print(*([f"{method}: {how}" for method, how in methods] or ["none"]), sep="\n")
    places = [*to_do(older, newer), *beside]
    if methods:
        places.append(("methods above", "policy/checks, rows in tests/verdicts, docs/reference/verdicts.md"))
    if places or name != since:
        places += the_release_itself(name)
    print("\nTo do:")
    print(*([f"{what}: {where}" for what, where in places] or ["nothing"]), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
