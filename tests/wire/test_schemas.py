"""The tables of `wire` against Kafka's own schemas: no API, version or layout may be missed.
`test_host_fields.py` has the fields that may name a host."""

import re

import pytest

from tests.wire.release import changed_methods, facts_of
from tests.wire.schemas import (
    KNOWN,
    Versions,
    beside_messages,
    fields_of,
    messages,
    news,
    to_do,
    versions_table,
)
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.wire.addresses import LAYOUTS, Kind
from tsproxy.wire.apis import APIS, NEVER

pytestmark = pytest.mark.broker

NEWEST, *_ = RELEASES = (KNOWN, "4.3.1", "3.9.1")

CAPS = {
    22: 5,  # 6 is unstable
}
"""The only APIs offered below what Kafka speaks."""

each_api = pytest.mark.parametrize("api_key", APIS, ids=lambda api_key: APIS[api_key].name)


@each_api
def test_an_api_is_known_to_its_newest_version(api_key):
    schema = messages()[api_key, "request"]
    api = APIS[api_key]
    assert schema["name"] == f"{api.name}Request"
    newest = Versions.of(schema["validVersions"]).until
    assert api.max_version == CAPS.get(api_key, newest) <= newest


@each_api
@pytest.mark.parametrize("kind", ["request", "response"])
def test_an_api_becomes_flexible_where_its_schema_says(api_key, kind):
    assert APIS[api_key].flexible_from == Versions.of(messages()[api_key, kind]["flexibleVersions"]).since


def test_every_api_that_a_broker_serves_is_known():
    served = {
        key
        for (key, kind), schema in messages().items()
        if kind == "request" and "broker" in schema.get("listeners", ())
    }
    assert served == set(APIS)


# -- Layouts ----------------------------------------------------------------------------------------

KINDS = {
    "int8": Kind.INT8,
    "bool": Kind.INT8,
    "int16": Kind.INT16,
    "int32": Kind.INT32,
    "int64": Kind.INT64,
    "uuid": Kind.UUID,
    "string": Kind.STRING,
    "records": Kind.RECORDS,
}
ADDRESS_KINDS = {"host": Kind.HOST, "port": Kind.PORT}


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def as_schema_says(fields, schema, version):
    """The fields of one version in the shape of a layout: (name, kind, what is inside)."""
    names = [snake(field["name"]) for field in fields]
    for name, field in zip(names, fields, strict=True):
        if version not in Versions.of(field["versions"]):
            continue
        assert "tag" not in field, f"{name} is a tagged field: the layout must learn to read it"
        inside = tuple(as_schema_says(fields_of(field, schema), schema, version))
        if field["type"].startswith("[]"):
            kind = Kind.ARRAY if inside else None
        elif "host" in names and field.get("entityType") == "brokerId":
            kind = Kind.NODE_ID
        else:
            kind = ADDRESS_KINDS.get(name) or KINDS.get(field["type"], Kind.STRUCT)
        yield name, kind, inside


def as_laid_out(fields, version):
    for f in fields:
        if f.since <= version <= f.until:
            yield f.name, f.kind, tuple(as_laid_out(f.fields, version))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("api_key", LAYOUTS, ids=lambda api_key: APIS[api_key].name)
def test_a_layout_is_its_schema_up_to_the_last_address(api_key, release):
    """3.9.1 has the early versions of what later ones have stable: they may be met where they are enabled."""
    schema = messages(release)[api_key, "response"]
    valid = Versions.of(schema["validVersions"])
    assert valid.since <= APIS[api_key].max_version
    for version in range(valid.since, min(valid.until, APIS[api_key].max_version) + 1):
        told = list(as_schema_says(schema["fields"], schema, version))
        layout = list(as_laid_out(LAYOUTS[api_key], version))
        assert layout == told[: len(layout)]
        assert not holds_address(told[len(layout) :])


def shape_of(fields, schema, version):
    """The fields of one version, as a walk over bytes meets them: sizes, and what is counted."""
    at, shape = 0, []
    for field in fields:
        if version not in Versions.of(field["versions"]) or "tag" in field:
            continue
        inside = fields_of(field, schema)
        if field["type"] in SIZES:
            at += SIZES[field["type"]]
            continue
        assert field["type"].startswith("[]") or field["type"] == "records", field["name"]
        shape += [at, (field["name"], *shape_of(inside, schema, version))]
        at = 0
    return (*shape, at)


SIZES = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "uuid": 16}


@pytest.mark.parametrize(("release", "newest"), [(NEWEST, 18), ("4.3.1", 18), ("3.9.1", 17)])
def test_the_walk_over_fetch_answers_is_their_schema(release, newest):
    """`FetchWalk` steps over so many bytes between one number and the next."""
    schema = messages(release)[1, "response"]
    assert Versions.of(schema["flexibleVersions"]).since <= 16
    partition = (30, ("AbortedTransactions", 16), 4, ("Records", 0), 0)
    for version in range(16, newest + 1):
        assert shape_of(schema["fields"], schema, version) == (
            10,
            ("Responses", 16, ("Partitions", *partition), 0),
            0,
        )
    tagged = [(f["name"], f["tag"], f["taggedVersions"]) for f in schema["fields"] if "tag" in f]
    assert tagged == [("NodeEndpoints", 0, "16+")], "what names brokers is tagged, and so at the end"


def holds_address(fields):
    return any(kind is Kind.HOST or holds_address(inside) for _, kind, inside in fields)


def test_versions_are_read_as_schemas_write_them():
    assert Versions.of("1+") == Versions(1, NEVER)
    assert Versions.of("1-3") == Versions(1, 3)
    assert Versions.of("2") == Versions(2, 2)
    assert Versions.of("none") == Versions(NEVER, NEVER)


# -- What a release has, and what is new in it ------------------------------------------------------


def test_the_list_of_a_release_says_which_versions_are_known():
    lines = {line.split()[1]: line.split(maxsplit=4)[2:] for line in versions_table(messages())}
    assert lines["Fetch"] == ["4-18", "0-18", "known"]
    assert lines["InitProducerId"] == ["0-6", "0-5", "known, 6 is unstable"]
    assert lines["Vote"] == ["0-2", "-", "not on a broker's listener"]
    not_known = {name for name, (_, _, remark) in lines.items() if remark.startswith("NOT KNOWN")}
    assert not_known == {APIS[key].name for key in CAPS if key != 22}


def test_what_a_release_adds_is_listed_field_by_field():
    added = list(news(messages("3.9.1"), messages("4.3.1")))
    assert "  1 FetchResponse: versions 0-17 -> 4-18" in added
    assert " 60 DescribeClusterResponse: Brokers.IsFenced type bool versions 2+" in added
    assert " 92 DeleteShareGroupOffsetsRequest: new" in added
    assert list(news(messages(), messages())) == []


@pytest.mark.full_only("takes apart both; the tests beside compare all else of a release")
def test_methods_of_the_verdict_that_changed_are_named():
    old, new = fetch_kafka_jars("4.3.1"), fetch_kafka_jars("4.4.0")
    changed = {method.partition("(")[0].rpartition(" ")[2] for method, _ in changed_methods(old, new)}
    assert {"readFrom", "readPartiallyFrom", "validateMessagesAndAssignOffsetsCompressed"} <= changed


def test_a_release_names_the_places_that_must_change():
    """From 4.3.1 to 4.4.0, just what had to be done."""
    rows = [what for what, where in to_do(messages("4.3.1"), messages("4.4.0")) if "apis.py" in where]
    assert rows == [
        "ApiVersions 5",
        "TxnOffsetCommit 6",
        "DeleteGroups 3",
        "StreamsGroupHeartbeat 1",
        "StreamsGroupDescribe 1",
        "StreamsGroupTopologyDescriptionUpdate 0",
        "UnregisterController 0",
    ]
    layouts = {what for what, where in to_do(messages("3.9.1"), messages("4.3.1")) if "apis.py" not in where}
    assert {"Produce 12-13", "Fetch 18", "DescribeCluster 2"} <= layouts
    older, newer = (facts_of(fetch_kafka_jars(release)) for release in ("4.3.1", "4.4.0"))
    beside = dict(beside_messages(older, newer))
    assert beside["error 134 GROUP_DELETION_FAILED"] == "ErrorCode in model/kafka.py"
    assert "topic setting max.decompressed.message.bytes (new)" in beside
    assert list(beside_messages(newer, newer)) == list(to_do(messages(), messages())) == []


def test_a_new_field_that_may_hold_an_address_is_marked():
    """Also one that is added to a version that is known already, as a tagged field may be."""
    schema = messages()[1, "response"]
    without = {**schema, "fields": [f for f in schema["fields"] if f["name"] != "NodeEndpoints"]}
    first, *_ = news({(1, "response"): without}, {(1, "response"): schema})
    assert (
        first
        == "  1 FetchResponse: NodeEndpoints type []NodeEndpoint versions 16+ tag 0  LOOKS LIKE AN ADDRESS"
    )
