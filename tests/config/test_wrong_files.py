"""Every mistake in a configuration file is named with its place, and no problem repeats a secret."""

import re

import pytest

from tests.config.files import SMALLEST, problems_of
from tsproxy.config import ConfigError, build_sasl, empty_document, load, put_setting, read_yaml
from tsproxy.config.document import parse_yaml

WRONG = {
    "an unknown key names its nearest neighbour": (
        SMALLEST + "polcy: { mode: audit }\n",
        r"tsproxy.yaml:4: polcy: unknown key; did you mean 'policy'\? Allowed here: upstream, listeners, ",
    ),
    "a key in the wrong section is pointed to its place": (
        SMALLEST + "refresh: 30s\n",
        r"tsproxy.yaml:4: refresh: unknown key; did you mean 'upstream.admin.refresh'\?",
    ),
    "a key that resembles nothing gets the list of what is allowed": (
        SMALLEST + "admin: { zzz: 1 }\n",
        r"tsproxy.yaml:4: admin.zzz: unknown key; Allowed here: bind, hosts, token, token_file, tls$",
    ),
    "a key given twice names both lines": (
        SMALLEST + "admin:\n  bind: off\n  bind: 127.0.0.1:1\n",
        r"tsproxy.yaml:6: admin.bind: given twice; the first is at tsproxy.yaml:5",
    ),
    "host names of brokers need TLS": (
        SMALLEST + "    brokers: { host: 'b{node_id}.x.test' }\n",
        r"tsproxy.yaml:4: listeners\[0\].brokers.host: needs tls: the host name that a client asks for",
    ),
    "host names and ports of brokers exclude each other": (
        SMALLEST + "    tls: { certificate: a, key: b }\n"
        "    brokers: { host: 'b{node_id}.x.test', ports_from: 9193 }\n",
        r"listeners\[0\].brokers.host: brokers are told apart by host or by port",
    ),
    "host names of brokers hold the node's id": (
        SMALLEST + "    brokers: { host: 'b.x.test' }\n",
        r"brokers.host: 'b.x.test' is not allowed; must be a host name with \{node_id\} in it once",
    ),
    "a mapping rule is checked": (
        SMALLEST + "    tls: { certificate: a, key: b, principal_mapping: ['RULE:^(CN=.*$/$1/'] }\n",
        r"tls.principal_mapping: .* is not allowed; must be a rule with a regular expression: missing \)",
    ),
    "an unset variable is named": (
        SMALLEST + "decisions: { directory: '${NOWHERE}' }\n",
        r"tsproxy.yaml:4: decisions.directory: the environment variable NOWHERE is not set",
    ),
    "a variable's name is checked": (
        SMALLEST + "decisions: { directory: '${no-name}' }\n",
        r"tsproxy.yaml:4: decisions.directory: \$\{NAME\} needs the name of an environment variable",
    ),
    "a duration needs a unit": (
        SMALLEST + "decisions: { rotate: { every: 15 } }\n",
        r"tsproxy.yaml:4: decisions.rotate.every: '15' is not allowed; must be a duration up to 1d,",
    ),
    "a duration of nothing is rejected": (
        SMALLEST + "decisions: { rotate: { every: 0s } }\n",
        r"decisions.rotate.every: '0s' is not allowed",
    ),
    "a size needs a binary unit": (
        SMALLEST + "limits: { produce_frame: 1MB }\n",
        r"limits.produce_frame: '1MB' is not allowed; must be a size from 1B to 2047MiB",
    ),
    "a size beyond a frame's length is rejected": (
        SMALLEST + "limits: { produce_frame: 2GiB }\n",
        r"limits.produce_frame: '2GiB' is not allowed",
    ),
    "a number outside its range is rejected": (
        SMALLEST + "limits: { in_flight_requests: 0 }\n",
        r"limits.in_flight_requests: '0' is not allowed; must be a whole number from 1 to 1000000",
    ),
    "an address needs a port": (
        "upstream: { bootstrap_servers: [kafka] }\nlisteners: [{ bind: '127.0.0.1:1' }]\n",
        r"tsproxy.yaml:1: upstream.bootstrap_servers: 'kafka' is not allowed; must be host:port with a port",
    ),
    "an IPv6 address needs brackets": (
        "upstream: { bootstrap_servers: ['::1:9092'] }\nlisteners: [{ bind: '127.0.0.1:1' }]\n",
        r"upstream.bootstrap_servers: '::1:9092' is not allowed; must be host:port .* \[::1\]:9092",
    ),
    "a port ends at 65535": (
        "upstream: { bootstrap_servers: ['kafka:65536'] }\nlisteners: [{ bind: '127.0.0.1:1' }]\n",
        r"'kafka:65536' is not allowed",
    ),
    "a mode is one of three": (
        SMALLEST + "policy: { mode: strict }\n",
        r"policy.mode: 'strict' is not allowed; must be one of enforce, audit, off",
    ),
    "a bound is a duration or unlimited": (
        SMALLEST + "policy: { defaults: { message.timestamp.after.max.ms: never } }\n",
        r"tsproxy.yaml:4: policy.defaults.message.timestamp.after.max.ms: 'never' is not allowed; "
        r"must be a duration such as 0ms, 10s, 1h or 7d, or unlimited",
    ),
    "an interval of the decision log divides an hour": (
        SMALLEST + "decisions: { interval: 7m }\n",
        r"decisions.interval: '7m' is not allowed; must be a duration from 1s to 1h that divides an hour",
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
    "an empty list of brokers is rejected": (
        "upstream: { bootstrap_servers: [] }\nlisteners: [{ bind: '127.0.0.1:1' }]\n",
        r"tsproxy.yaml:1: upstream.bootstrap_servers: must name at least one host:port",
    ),
    "a section given as a value is rejected": (
        SMALLEST + "policy: enforce\n",
        r"tsproxy.yaml:4: policy: must be a section with mode",
    ),
    "a value given as a section is rejected": (
        SMALLEST + "admin: { bind: { port: 1 } }\n",
        r"tsproxy.yaml:4: admin.bind: must be one value: host:port or `off`",
    ),
    "a wildcard address cannot be advertised": (
        "upstream: { bootstrap_servers: [kafka:1] }\nlisteners:\n  - bind: 0.0.0.0:9192\n",
        r"tsproxy.yaml:3: listeners\[0\].advertised_host: is missing: bind is 0.0.0.0:9192",
    ),
    "two listeners cannot share a name": (
        SMALLEST + "  - bind: 127.0.0.1:19192\n",
        r"tsproxy.yaml:4: listeners\[1\].name: the name 'default' is taken by tsproxy.yaml:3: listeners\[0\]",
    ),
    "two listeners cannot share ports": (
        SMALLEST + "  - { name: other, bind: 127.0.0.1:9200 }\n",
        r"listeners\[1\].bind: takes ports of tsproxy.yaml:3: listeners\[0\].brokers: 9193 to 9392",
    ),
    "the admin port cannot lie among the brokers' ports": (
        SMALLEST + "admin: { bind: 127.0.0.1:9200 }\n",
        r"admin.bind: takes ports of .*listeners\[0\].brokers: 9193 to 9392",
    ),
    "a certificate needs its key": (
        "upstream: { bootstrap_servers: [kafka:1], tls: { certificate: a.pem } }\n"
        "listeners: [{ bind: '127.0.0.1:1' }]\n",
        r"tsproxy.yaml:1: upstream.tls: needs both certificate and key, or neither",
    ),
    "half a SASL section is rejected": (
        SMALLEST.replace("}", ", admin: { sasl: { mechanism: PLAIN } } }"),
        r"upstream.admin.sasl.password: is missing: PLAIN takes username and password",
    ),
    "a mechanism's keys must all be there": (
        SMALLEST.replace("}", ", admin: { sasl: { mechanism: OAUTHBEARER, client_id: tsproxy } } }"),
        r"sasl.token_endpoint: is missing: OAUTHBEARER takes token_endpoint and client_id and client_secret",
    ),
    "keys of another mechanism are rejected": (
        SMALLEST.replace("}", ", admin: { sasl: { mechanism: OAUTHBEARER, token_file: t, username: u } } }"),
        r"sasl.username: does not go with mechanism OAUTHBEARER, which takes token_file; leave it out",
    ),
    "a secret goes to no issuer in the clear": (
        SMALLEST.replace(
            "}", ", admin: { sasl: { mechanism: OAUTHBEARER, token_endpoint: 'http://a/t' } } }"
        ),
        r"token_endpoint: .* is not allowed; must be an https URL, .* \(http only for localhost\)",
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


def test_a_file_that_is_not_there_is_told_without_a_traceback(tmp_path):
    with pytest.raises(ConfigError, match=r"absent.yaml: cannot be read: No such file"):
        read_yaml(tmp_path / "absent.yaml")


def test_a_file_that_is_not_text_is_told(tmp_path):
    (tmp_path / "binary.yaml").write_bytes(b"a: \xff\n")

    with pytest.raises(ConfigError, match=r"binary.yaml: is not UTF-8 text: byte 3"):
        read_yaml(tmp_path / "binary.yaml")


@pytest.mark.parametrize("password", ["", "hunter2: ${NOPE}"])
def test_a_wrong_password_is_not_repeated_in_the_problem(password):
    text = SMALLEST.replace(
        "}", f", admin: {{ sasl: {{ mechanism: PLAIN, username: me, password: '{password}' }} }} }}"
    )

    assert "hunter2" not in "".join(problems_of(text))


def test_what_a_variable_held_is_not_repeated_in_the_problem():
    problems = problems_of(SMALLEST + "admin: { bind: '${PASSWORD}' }\n", {"PASSWORD": "hunter2"})

    assert "hunter2" not in "".join(problems)
    assert "'${PASSWORD}' is not allowed" in problems[0]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("policy.mode", "--set: policy.mode: must be key=value"),
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
