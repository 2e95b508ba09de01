"""The schema that editors check by allows whatever a right file holds, and sees plain mistakes."""

import re
from pathlib import Path

import pytest
import yaml

from tests.config.files import SMALLEST, config_of
from tests.decisions.conformance import fits
from tests.documents.keys import EXAMPLES, part_of, reference
from tsproxy.config.kinds import SECRET, file_with
from tsproxy.config.schema import json_schema
from tsproxy.config.tree import KEYS

DOCS = Path(__file__).parents[2] / "docs" / "reference"
EXAMPLE = Path(__file__).parents[2] / "deploy" / "tsproxy.yaml"


def file_fits(text):
    return fits(yaml.safe_load(text), json_schema())


def test_the_files_that_come_along_fit():
    examples = re.findall(r"```yaml\n(.*?)```", (DOCS / "configuration.md").read_text("utf-8"), re.DOTALL)

    assert examples
    assert all(map(file_fits, examples))
    assert file_fits(SMALLEST)
    assert file_fits(EXAMPLE.read_text("utf-8"))


@pytest.mark.parametrize("part", [part for part, text in EXAMPLES.items() if text])
def test_an_example_of_the_reference_is_right_and_shows_its_part(part):
    text = EXAMPLES[part]
    given = yaml.safe_load(text)
    rest = {name: value for name, value in yaml.safe_load(SMALLEST).items() if name not in given}

    config_of(f"{text}\n{yaml.safe_dump(rest) if rest else ''}")  # raises nothing

    assert part in {part_of(".".join(each)) for each in paths(given)}


def paths(value, path=()):
    """The path of each value, in the words of the reference."""
    if isinstance(value, dict):
        return [each for name, below in value.items() for each in paths(below, (*path, name))]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return paths(value[0], (*path[:-1], f"{path[-1]}[]"))
    return [path]


def test_the_reference_has_each_key_as_a_heading_or_says_where_it_stands():
    text = reference()

    for key in KEYS:
        if key.kind.word == file_with(SECRET).word:
            assert f"secret, or `{key.path.rpartition('.')[2]}`" in text
            continue
        part = part_of(key.path)
        name = key.path.removeprefix(part).lstrip(".")
        _, _, section = text.partition(f"### `{part}`\n" if part else "### The other keys\n")
        again = re.findall("^As in .*", section.partition("\n### ")[0], re.MULTILINE)
        assert (f"\n#### `{key.path}`\n" in text) != any(f"`{name}`" in line for line in again), key.path


@pytest.mark.parametrize("key", [key for key in KEYS if key.default is not None], ids=lambda key: key.path)
def test_a_default_fits_what_the_schema_says_of_its_key(key):
    [schema] = [each for path, each in leaves(json_schema(), "") if path == key.path]

    assert fits(key.default, schema)
    assert fits("${ANYTHING}", schema)
    assert schema["default"] == key.default


def leaves(schema, path):
    """Every key of the schema by its path, as the table writes it."""
    for name, below in schema.get("properties", {}).items():
        full = f"{path}.{name}" if path else name
        if below.get("type") == "array":
            yield from leaves(below["items"], f"{full}[]")
        elif below.get("type") == "object":
            yield from leaves(below, full)
        else:
            yield full, below


def test_every_key_is_there_once():
    assert sorted(path for path, _ in leaves(json_schema(), "")) == sorted(key.path for key in KEYS)


SEEN = (
    *(
        SMALLEST + line
        for line in (
            "polcy: { mode: audit }",
            "refresh: 30s",
            "decisions: { rotate: { every: 15 } }",
            "limits: { produce_frame: 1MB }",
            "limits: { in_flight_requests: 0 }",
            "policy: { mode: strict }",
            "policy: { defaults: { message.timestamp.after.max.ms: never } }",
            "policy: enforce",
            "admin: { bind: { port: 1 } }",
        )
    ),
    "upstream: { bootstrap_servers: [kafka] }\nlisteners: [{ bind: '127.0.0.1:1' }]\n",
    "listeners: [{ bind: '127.0.0.1:1' }]\n",
    "upstream: { bootstrap_servers: [kafka:1] }\n",
    "upstream: { bootstrap_servers: [kafka:1] }\nlisteners: []\n",
)


@pytest.mark.parametrize("text", SEEN)
def test_an_editor_sees_plain_mistakes(text):
    assert not file_fits(text)


VALUES_AS_YAML_READS_THEM = """\
upstream: { bootstrap_servers: "a:1,b:2", tls: { min_version: 1.2 } }
listeners: [{ bind: "127.0.0.1:9192", brokers: { count: 20, ports_from: "9193" } }]
policy: { mode: off }
admin: { bind: "${ADMIN}" }
limits: { records_per_batch: 1_000_000 }
"""


def test_what_yaml_makes_of_plain_words_and_numbers_fits():
    assert file_fits(VALUES_AS_YAML_READS_THEM)
