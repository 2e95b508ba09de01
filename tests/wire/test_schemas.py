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
from tsproxy.wire.apis import APIS
from tsproxy.wire.k01_k78_fetch import layout_of
from tsproxy.wire.readers.streamed import NO_TAIL, STEPS, Number, Step

pytestmark = pytest.mark.broker

NEWEST, *_ = RELEASES = (KNOWN, "4.3.1", "3.9.1")

CAPS = {
    22: 5,  # 6 is unstable
}
"""The only APIs offered below what Kafka speaks."""


def test_each_api_is_known_to_its_newest_version():
    for api_key, api in APIS.items():
        schema = messages()[api_key, "request"]
        assert schema["name"] == f"{api.name}Request"
        valid = Versions.of(schema["validVersions"])
        assert api.max_version == CAPS.get(api_key, valid.until) <= valid.until, api.name
        assert api.kafka_4_from == valid.since, api.name


@pytest.mark.parametrize("kind", ["request", "response"])
def test_each_api_becomes_flexible_where_its_schema_says(kind):
    for api_key, api in APIS.items():
        assert api.flexible_from == Versions.of(messages()[api_key, kind]["flexibleVersions"]).since, api.name


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
    "uuid": Kind.UUID,
    "string": Kind.STRING,
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
        elif field.get("entityType") == "brokerId":
            kind = Kind.NODE_ID if "host" in names else Kind.BROKER_ID
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


SIZES = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "uuid": 16}


def add_steps(steps, fields, schema, version, skip):
    """Add the steps over the fields of one version. Returns how many bytes follow the last number."""
    for field in fields:
        if version not in Versions.of(field["versions"]) or "tag" in field:
            continue
        inside = fields_of(field, schema)
        if field["type"] in SIZES:
            skip += SIZES[field["type"]]
        elif field["type"] in ("string", "records"):
            steps.append(Step(skip, Number.BYTES))
            skip = 0
        elif field["type"].startswith("[]"):
            is_nullable = version in Versions.of(field.get("nullableVersions", "none"))
            place = len(steps)
            steps.append(Step(skip, Number.NULLABLE if is_nullable else Number.ARRAY))
            skip = add_steps(steps, inside, schema, version, 0)
            steps[place] = steps[place]._replace(partner=len(steps))
            steps.append(Step(skip, Number.TAGS, place))
            skip = 0
        else:
            skip = add_steps(steps, inside, schema, version, skip)
            steps.append(Step(skip, Number.TAGS))
            skip = 0
    return skip


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("api_key", [1, 78])
def test_the_walk_over_answers_that_stream_is_their_schema_up_to_the_nodes(api_key, release):
    schema = messages(release)[api_key, "response"]
    valid, flexible = Versions.of(schema["validVersions"]), Versions.of(schema["flexibleVersions"])
    known = range(valid.since, min(valid.until, APIS[api_key].max_version) + 1)
    streamed = {version: layout for version in known if (layout := layout_of(api_key, version)) is not None}
    assert streamed
    (place,) = (at for at, field in enumerate(schema["fields"]) if field["name"] == "NodeEndpoints")
    is_tagged = schema["fields"][place].get("taggedVersions") == "16+"
    assert is_tagged == (api_key == 1), "where tagged fields or an array stand, the tail begins"
    assert all("tag" in field for field in schema["fields"][place + 1 :])
    for version, layout in streamed.items():
        steps = [Step(4 + 4, Number.TAGS)]
        assert version in flexible
        assert add_steps(steps, schema["fields"][:place], schema, version, 0) == 0
        assert tuple(steps) == STEPS[layout]
        assert NO_TAIL[layout] == (b"\x00" if is_tagged else b"\x01\x00")


def holds_address(fields):
    return any(kind is Kind.HOST or holds_address(inside) for _, kind, inside in fields)


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
    assert list(to_do(messages(), messages())) == []


@pytest.mark.full_only("starts Java three times; the tests beside compare the messages of a release")
def test_a_release_names_what_changes_beside_its_messages():
    older, newer = (facts_of(fetch_kafka_jars(release)) for release in ("4.3.1", "4.4.0"))
    beside = dict(beside_messages(older, newer))
    assert beside["error 134 GROUP_DELETION_FAILED"] == "ErrorCode in model/kafka.py"
    assert "topic setting max.decompressed.message.bytes: not there -> 2147483639" in beside
    earlier = facts_of(fetch_kafka_jars("3.9.1"))
    default = "topic setting message.timestamp.after.max.ms: 9223372036854775807 -> 3600000"
    assert "as_kafka_4" in dict(beside_messages(earlier, newer))[default]
    assert list(beside_messages(newer, newer)) == []


def test_a_new_field_that_may_hold_an_address_is_marked():
    """Also one that is added to a version that is known already, as a tagged field may be."""
    schema = messages()[1, "response"]
    without = {**schema, "fields": [f for f in schema["fields"] if f["name"] != "NodeEndpoints"]}
    first, *_ = news({(1, "response"): without}, {(1, "response"): schema})
    assert (
        first
        == "  1 FetchResponse: NodeEndpoints type []NodeEndpoint versions 16+ tag 0  LOOKS LIKE AN ADDRESS"
    )
