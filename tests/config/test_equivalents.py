"""Durations, sizes and keys as other programs write them: the error says how they are written here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.files import SMALLEST, config_of, problems_of
from tsproxy.config.keys import SectionKeys
from tsproxy.config.kinds import BOUND, DURATION, SIZE, TOLERANCE
from tsproxy.config.load import _unknown
from tsproxy.config.synonyms import SYNONYMS
from tsproxy.config.tree import TREE
from tsproxy.model.policy import TimeLimit

LONG_MAX = 2**63 - 1
KEY = "message.timestamp.before.max.ms"


def bound_of(written):
    return (
        config_of(f"{SMALLEST}policy: {{ rules: [{{ name: a, {KEY}: {written} }}] }}\n")
        .policy.rules[0]
        .settings
    )


@pytest.mark.parametrize(
    ("written", "max_ms"),
    [
        ("604800000", 604_800_000),
        ("0", 0),
        ("604_800_000", 604_800_000),
        ("'3600000'", 3_600_000),
        (str(LONG_MAX), None),
        ("7d", 604_800_000),
        ("unlimited", None),
    ],
)
def test_a_key_of_kafkas_takes_milliseconds_as_kafkas_files_have_them(written, max_ms):
    """TopicConfig: message.timestamp.before.max.ms is a LONG in milliseconds, by default Long.MAX_VALUE."""
    assert bound_of(written).before == TimeLimit(max_ms)


@pytest.mark.parametrize("written", ["-1", str(LONG_MAX - 1), str(LONG_MAX + 1), "1e9", "٣"])
def test_a_number_that_is_no_limit_of_kafkas_is_rejected(written):
    [problem] = problems_of(f"{SMALLEST}policy: {{ rules: [{{ name: a, {KEY}: {written} }}] }}\n")
    assert "is not allowed; must be a duration such as 0ms, 10s, 1h or 7d, or unlimited" in problem


DURATIONS = {
    "1h30m": "write 90m",
    "1h 30m": "write 90m",
    "1.5h": "write 90m",
    "1w": "write 7d",
    "2 weeks": "write 14d",
    "90 min": "write 90m",
    "1H": "write 1h",
    "1y": "write 365d",
    "500 millis": "write 500ms",
    "PT10M": "write 10m",
    "P1DT12H": "write 36h",
    "604800000": "it needs a unit: 604800000ms, which is 7d",
    "1234": "it needs a unit: 1234ms",
    "30": "it needs a unit, such as 30s",
}
SIZES = {
    "128MB": "write 128MiB",
    "128 mb": "write 128MiB",
    "1.5GiB": "write 1536MiB",
    "512k": "write 512KiB",
    "134217728": "it needs a unit: 134217728B, which is 128MiB",
    "64": "it needs a unit, such as 64MiB",
}
NOTHING = [
    "",
    "soon",
    "1x",
    "h1",
    "1h30",
    "0.0000000001s",
    "0s",
    "-1h",
    "1..5h",
    "9" * 40,
    "9" * 15 + "y",
    "P1M",
    "P",
    "PT",
]


ADVICE = [
    *((DURATION, text, advice) for text, advice in DURATIONS.items()),
    *((SIZE, text, advice) for text, advice in SIZES.items()),
    *((kind, text, None) for text in NOTHING for kind in (DURATION, SIZE)),
]


@pytest.mark.parametrize(("kind", "text", "advice"), ADVICE)
def test_a_value_is_told_as_it_is_written_here(kind, text, advice):
    assert kind.advice(text) == advice


@given(st.text(alphabet="0123456789.hmsdwykKMGiB _", max_size=24))
def test_what_is_advised_is_always_taken(text):
    for kind in (DURATION, TOLERANCE, BOUND, SIZE):
        advice = kind.advice(text)
        if advice is not None:
            told = advice.split(": ")[-1].removeprefix("write ").removeprefix("it needs a unit, such as ")
            assert kind.parse(told.partition(",")[0]) is not None


WRITTEN_OTHERWISE = {
    "upstream: { bootstrap_servers: ['kafka-1: 9092'] }": "write kafka-1:9092",
    "upstream: { bootstrap_servers: ['kаfka-1:9092'] }": "it holds U+0430 (CYRILLIC SMALL LETTER A)",
    "admin: { bind: ':9464' }": "write 0.0.0.0:9464",
    "admin: { hosts: ['http://proxy.example.com:9464/'] }": "write proxy.example.com",
    "policy: { mode: “audit” }": "it holds U+201C (LEFT DOUBLE QUOTATION MARK)",
    "policy: { mode: au\u00addit }": "it holds U+00AD (SOFT HYPHEN)",
}


@pytest.mark.parametrize(("line", "advice"), WRITTEN_OTHERWISE.items())
def test_addresses_and_characters_that_look_right_are_told(line, advice):
    told = problems_of(f"{SMALLEST}{line}\n" if not line.startswith("upstream") else f"{line}\n")
    assert told[0].endswith(f"; {advice}")


@pytest.mark.parametrize("password", ["", "hünter2${NOPE"])
def test_of_a_password_no_character_is_told(password):
    sasl = f"{{ mechanism: PLAIN, username: me, password: '{password}' }}"
    [told] = problems_of(SMALLEST.replace(" }", f", admin: {{ sasl: {sasl} }} }}", 1))
    assert "hünter2" not in told
    assert "U+" not in told


def sections(keys=TREE):
    yield keys
    for below in keys.below.values():
        if isinstance(below, SectionKeys):
            yield from sections(below)


@pytest.mark.parametrize(("key", "others"), SYNONYMS.items())
def test_what_other_files_call_a_key_is_told_by_its_name_here(key, others):
    """Wherever the key is allowed, each other name of it leads to it, unless it is itself a key there."""
    here = [keys for keys in sections() if key in keys.below]
    assert here, "no section has this key"
    for keys in here:
        for name in {*others.split()} - keys.below.keys():
            assert _unknown(name, keys).startswith(f"unknown key; did you mean {key!r}? "), (keys.path, name)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("bootstrap.servers: a:1", "upstream.bootstrap_servers"),
        ("bootstrapServers: a:1", "upstream.bootstrap_servers"),
        ("brokers: a:1", "upstream.bootstrap_servers"),
        ("listen_address: a:1", "listeners[].bind"),
        ("log.message.timestamp.after.max.ms: 1", "policy.defaults.message.timestamp.after.max.ms"),
        ("ssl.truststore.location: /ca", "upstream.tls.ca"),
    ],
)
def test_a_key_of_another_section_is_told_with_its_path(line, key):
    assert f"did you mean {key!r}?" in problems_of(f"{line}\n")[0]


BROKEN = {
    "upstream:\n\tbootstrap_servers: x\n": "cannot start any token; indent with spaces: YAML allows no tabs",
    "a:\n    b: 1\n   c: 2\n": "this line's indentation differs from the lines it belongs to",
    "a: b: c\n": "put a text with a colon and a space in quotes",
    "a: [1, 2\nb: 3\n": "a bracket or a brace is not closed",
    "a: [*-log]\n": "put a text that begins with * or & in quotes",
    "a: *.example.com\n": "put a text that begins with * or & in quotes",
    "listeners: { bind: 'a:1' }\n": "a dash begins each (- name: …)",
    "upstream: { bootstrap_servers: '${BROKERS' }\n": "${ has no closing }; write $${ for a plain ${",
}


@pytest.mark.parametrize(("text", "told"), BROKEN.items())
def test_what_is_usually_behind_a_broken_file_is_told(text, told):
    assert any(told in problem for problem in problems_of(text)), problems_of(text)


def test_a_few_lines_of_aliases_that_stand_for_a_billion_values_are_rejected():
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10))]
    assert problems_of("\n".join(lines)) == [
        "tsproxy.yaml: stands for more than 200,000 values, aliases written out"
    ]


def test_a_dollar_that_is_doubled_hides_no_variable_behind_it():
    config = config_of(SMALLEST + "decisions: { directory: '/$${a/${B}' }\n", {"B": "c"})
    assert str(config.decisions.directory) == "/${a/c"
