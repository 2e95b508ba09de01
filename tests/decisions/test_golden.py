"""Logs of each version, kept for ever: what was once written stays right, whatever the schema becomes.

A field that is added within a version comes with a golden log that holds it; the logs that are there
are never written again.
"""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.decisions.conformance import complaints
from tsproxy.decisions.fields import FIELDS, SCHEMA_VERSION, EventName
from tsproxy.decisions.schema import json_schema

FOLDER = Path(__file__).parent / "golden"

LOGS = {
    "v1-limits-unknown.jsonl": "77c226087cf9dbd1ba5c15e511ae24b176cb7f5f69408904541ba9d0254eb462",
    "v1-old-versions.jsonl": "48c319cedabd6e2e2f83b1cfffc92d5032dc87edaafb009469f131ecf9c70049",
    "v1.jsonl": "4344c9a0f08467ae3b1cea01bd90ed5887a5442f044ed5754b80122e0aff61ea",
    "v1-out-of-order.jsonl": "1d7e2710ad9edbeebf750bd98dadbcb395d1af8705fa2420763d169299de3627",
    "v1-policy.jsonl": "59ba004de647c1334964d218df268cf82c0a30d94e80880a0b235cbd47f710f4",
    "v1-rules.jsonl": "aeec965a6c95ca669fba23c865f19621b6f16cb164fc05d66cb54384ebf48a80",
    "v1-unread.jsonl": "8c9378735231e0165d30b40ded47b52559a2dff482d396402c43ec238ad1d683",
}
"""By their SHA-256. `out-of-order`: records out of order. `policy`: modes, waivers, what would be rejected,
folded and hashed names. `rules`: what a rule about stream time and an operator's own rejected. `unread`:
compressed batches of which only the header was judged. `limits-unknown`: batches judged without the limits of
their topic. `old-versions`: clients that Kafka 4 refuses."""


def lines_of(name):
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def test_every_log_is_listed_and_every_version_has_one():
    assert {path.name for path in FOLDER.glob("*.jsonl")} == LOGS.keys()
    versions = {line["v"] for name in LOGS for line in lines_of(name)}
    assert versions == set(range(1, SCHEMA_VERSION + 1))


@pytest.mark.parametrize(("name", "digest"), LOGS.items())
def test_a_log_is_what_it_was(name, digest):
    assert sha256((FOLDER / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("name", LOGS)
def test_a_log_conforms_to_the_schema_of_today(name):
    for line in lines_of(name):
        assert complaints(line, json_schema()) == []


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_whole(name):
    boots = {}
    for line in lines_of(name):
        boots.setdefault((line["proxy"], line["boot"]), []).append(line["seq"])
    assert all(seqs == list(range(len(seqs))) for seqs in boots.values())


def test_every_field_stands_in_a_log_for_every_event_that_may_have_it():
    found = {(field, line["event"]) for name in LOGS for line in lines_of(name) for field in line}
    missing = [(f.name, e.value) for f in FIELDS for e in f.events if (f.name, e.value) not in found]
    assert missing == []
    assert {event for _, event in found} == {event.value for event in EventName}


def test_fields_are_only_ever_added():
    """v1.fields.txt may grow; a line that changes or goes breaks those who read version 1."""
    published = (FOLDER / "v1.fields.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(published) == sorted(f"{field.name} {field.type}" for field in FIELDS if field.since == 1)


def test_closed_lists_only_ever_grow():
    """v1.words.txt may grow as well; a word that changes or goes breaks those who look for it."""
    published = (FOLDER / "v1.words.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(published) == sorted(f"{field.name} {word}" for field in FIELDS for word in field.choices)


def test_the_schema_lets_a_later_writer_add_fields():
    assert all(event["additionalProperties"] is True for event in json_schema()["oneOf"])
