"""Mistakes that no row of mistakes.md can have: each is named with its place. No problem repeats a secret."""

import re

import pytest

from tests.config.files import SMALLEST, problems_of
from tsproxy.config import ConfigError, build_sasl, empty_document, load, put_setting, read_yaml
from tsproxy.config.document import parse_yaml
from tsproxy.config.tree import KEYS, SECTIONS, TREE, steps_of

WRONG = {
    "a key given twice names both lines": (
        SMALLEST + "admin:\n  bind: off\n  bind: 127.0.0.1:1\n",
        r"tsproxy.yaml:6: admin.bind: given twice; the first is at tsproxy.yaml:5",
    ),
    "host names and ports of brokers exclude each other": (
        SMALLEST + "    tls: { certificate: a, key: b }\n"
        "    brokers: { host: 'b{node_id}.x.test', ports_from: 9193 }\n",
        r"listeners\[0\].brokers.host: brokers are told apart by host or by port",
    ),
    "a missing upstream is missed": (
        "listeners: [{ bind: '127.0.0.1:1' }]\n",
        r"tsproxy.yaml:1: upstream.bootstrap_servers: is missing: host:port",
    ),
    "a file without listeners is rejected": (
        "upstream: { bootstrap_servers: [kafka:1] }\n",
        r"listeners: is missing: a list of sections with name, bind",
    ),
    "an empty list of listeners is rejected": (
        "upstream: { bootstrap_servers: [kafka:1] }\nlisteners: []\n",
        r"tsproxy.yaml:2: listeners: must be a list of sections",
    ),
    "a wildcard address cannot be advertised": (
        "upstream: { bootstrap_servers: [kafka:1] }\nlisteners:\n  - bind: 0.0.0.0:9192\n",
        r"tsproxy.yaml:3: listeners\[0\].advertised_host: is missing: bind is 0.0.0.0:9192",
    ),
    "its other forms cannot be advertised either": (
        "upstream: { bootstrap_servers: [kafka:1] }\nlisteners:\n  - bind: '[::0]:9192'\n",
        r"listeners\[0\].advertised_host: is missing: bind is \[::0\]:9192, which no client can connect to",
    ),
    "nor in short": (
        SMALLEST + "    advertised_host: '0'\n",
        r"listeners\[0\].advertised_host: is 0, which no client can connect to; name the host",
    ),
    "half a SASL section is rejected": (
        SMALLEST.replace("}", ", admin: { sasl: { mechanism: PLAIN } } }"),
        r"upstream.admin.sasl.password: is missing: PLAIN takes username and password",
    ),
    "a mechanism's keys must all be there": (
        SMALLEST.replace("}", ", admin: { sasl: { mechanism: OAUTHBEARER, client_id: tsproxy } } }"),
        r"sasl.token_endpoint: is missing: OAUTHBEARER takes token_endpoint and client_id and client_secret",
    ),
    "GSSAPI finds its user elsewhere": (
        SMALLEST.replace("}", ", admin: { sasl: { mechanism: GSSAPI, username: u } } }"),
        r"sasl.username: does not go with mechanism GSSAPI, which takes only service_name",
    ),
    "what is not YAML is told with its line": ("upstream: [\n", r"tsproxy.yaml:2: not YAML: "),
    "a list as a file is rejected": ("- 1\n", r"tsproxy.yaml:1: the file must be a mapping"),
    "a file without end is rejected": (
        SMALLEST + "policy: &again { mode: *again }\n",
        r"nested too deeply",
    ),
    "brackets without end are rejected": ("[" * 10_000, r"^tsproxy.yaml: nested too deeply"),
    "a control character is rejected": ("a: \x07\n", r"tsproxy.yaml: not YAML"),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG)
def test_wrong_files_name_the_mistake_and_its_place(text, expected):
    problems = problems_of(text)

    assert any(re.search(expected, problem) for problem in problems), problems


def test_all_problems_are_told_at_once():
    problems = problems_of(
        SMALLEST.replace("9192", "none") + "polcy: {}\nadmin: { bind: 7 }\nlimits: { zstd_window: 1 }\n"
    )

    assert [problem.split(": ")[:2] for problem in problems] == [
        ["tsproxy.yaml:4", "polcy"],
        ["tsproxy.yaml:3", "listeners[0].bind"],
        ["tsproxy.yaml:6", "limits.zstd_window"],
        ["tsproxy.yaml:5", "admin.bind"],
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file"),
        (b"a: \xff\n", "is not UTF-8 text: byte 3"),
        (b"", "is empty: a configuration needs at least upstream.bootstrap_servers and one of listeners"),
        (b"# nothing\n", "is empty"),
        (b"{}\n", "is empty"),
    ],
    ids=["not there", "not text", "empty", "a comment", "an empty mapping"],
)
def test_a_file_that_cannot_be_read_is_told_even_if_flags_would_complete_it(tmp_path, content, told):
    if content is not None:
        (tmp_path / "odd.yaml").write_bytes(content)

    with pytest.raises(ConfigError, match=f"odd.yaml: {told}"):
        read_yaml(tmp_path / "odd.yaml")


@pytest.mark.parametrize("written", ["'${SALT}'", r'"\udcff"'])
def test_a_value_that_is_not_utf_8_is_a_problem(written):
    """A variable may have any bytes, and the program would end when it uses them."""
    environ = {"SALT": b"p\xff".decode("utf-8", "surrogateescape")}
    [problem] = problems_of(f"{SMALLEST}decisions: {{ privacy: {{ salt: {written} }} }}\n", environ)
    assert problem == "tsproxy.yaml:4: decisions.privacy.salt: is not UTF-8"


def test_what_a_variable_held_is_not_repeated_in_the_problem():
    problems = problems_of(SMALLEST + "admin: { bind: '${PASSWORD}' }\n", {"PASSWORD": "hunter2"})

    assert "hunter2" not in "".join(problems)
    assert "'${PASSWORD}' is not allowed" in problems[0]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("policy.mode", "--set: policy.mode: must be key=value"),
        ("upstream.admin.sasl.password:planted", "--set: upstream.admin.sasl.password: must be key=value"),
        ("upstream.admin.sasl.password planted", "--set: upstream.admin.sasl.password: must be key=value"),
        (
            "upstream.admin.sasl.password: cGxhbnRlZA==",
            "--set: upstream.admin.sasl.password: must be key=value",
        ),
        ("policy.moode=off", "--set: policy.moode: unknown key; did you mean 'mode'?"),
        ("policy=off", "--set: policy: unknown key"),
        ("listeners.bind=1", "--set: listeners.bind: is in the list 'listeners'"),
        ("a.b.c=1", "--set: a.b.c: unknown key"),
    ],
)
def test_a_wrong_setting_is_told(setting, expected):
    with pytest.raises(ConfigError) as caught:
        put_setting(empty_document(), setting)

    assert str(caught.value).startswith(expected)


def test_a_wrong_value_of_a_setting_names_the_flag():
    document = parse_yaml(SMALLEST, "tsproxy.yaml")
    put_setting(document, "policy.mode=strict")

    with pytest.raises(ConfigError, match=r"^--set: policy.mode: 'strict' is not allowed"):
        load(document, {})


def test_a_mechanism_whose_library_is_missing_names_the_package_to_install(monkeypatch):
    monkeypatch.setattr(build_sasl, "find_spec", lambda module: None)
    text = SMALLEST.replace("}", ", admin: { sasl: { mechanism: AWS_MSK_IAM, region: eu-west-1 } } }")
    with pytest.raises(
        ConfigError, match=r"aws_msk_iam_sasl_signer: pip install aws-msk-iam-sasl-signer-python"
    ):
        load(parse_yaml(text, "tsproxy.yaml"), {})


NAMES = {steps_of(section.path)[-1].removesuffix("[]") for section in SECTIONS} - TREE.below.keys()


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_section_in_the_wrong_place_is_told_another_one(name):
    """It stands at the top, as if the section around it had been forgotten."""
    [told] = [told for told in problems_of(f"{SMALLEST}{name}: {{}}\n") if f": {name}: unknown key" in told]
    assert told.partition("did you mean '")[2].partition("'")[0] in {key.path for key in (*KEYS, *SECTIONS)}
