"""A secret may stand in a file. It is read whenever it is needed, and shown nowhere."""

import pickle

import pytest

from tests.config.files import SMALLEST, config_of, problems_of
from tsproxy.config.keys import file_of
from tsproxy.config.tree import KEYS
from tsproxy.config.values import SecretError
from tsproxy.config.written import as_yaml
from tsproxy.proxy.admin.access import Reading

UPSTREAM, REST = SMALLEST.split(" }\n", 1)
SASL = f"{UPSTREAM}, admin: {{ sasl: {{ %s }} }} }}\n{REST}"
SCRAM = "mechanism: SCRAM-SHA-512, username: tsproxy, "
OAUTH = "mechanism: OAUTHBEARER, token_endpoint: 'https://issuer.example/token', client_id: tsproxy, "
PLACES = {
    "password": (SASL % (SCRAM + "%s"), lambda it: it.upstream.sasl.credentials.password),
    "client_secret": (SASL % (OAUTH + "%s"), lambda it: it.upstream.sasl.credentials.client_secret),
    "token": (SMALLEST + "admin: { %s }\n", lambda it: it.admin.token),
    "salt": (SMALLEST + "decisions: { privacy: { %s } }\n", lambda it: it.decisions.salt),
    "key_password": (
        f"{UPSTREAM}, tls: {{ certificate: c, key: k, %s }} }}\n{REST}",
        lambda it: it.upstream.tls.key_password,
    ),
}


def test_each_secret_has_a_key_for_a_file_that_a_reload_treats_alike():
    known = {key.path: key for key in KEYS}
    secrets = {path for path, key in known.items() if key.kind.is_secret and not path.endswith("_file")}
    assert {path.rpartition(".")[2] for path in secrets} == PLACES.keys()
    for path in secrets:
        assert known[file_of(path)].is_live == known[path].is_live


@pytest.mark.parametrize("name", PLACES)
def test_a_file_is_read_at_each_use_and_its_content_is_shown_nowhere(tmp_path, name):
    text, secret_of = PLACES[name]
    file = tmp_path / "secret"
    file.write_text("planted-one\n")
    config = config_of(text % f"{file_of(name)}: '{file}'")
    secret = secret_of(config)
    assert secret.reveal() == "planted-one"
    file.write_text("planted-two\r\n")
    assert secret.reveal() == pickle.loads(pickle.dumps(secret)).reveal() == "planted-two"
    assert secret_of(config_of(text % f"{name}: '{file}'")) != secret
    shown = as_yaml(config.parsed)
    assert f"{file_of(name)}: {file}" in shown
    assert "planted" not in f"{shown}{config!r}"


NO_SECRETS = {
    None: "cannot be read: No such file or directory",
    b"\n": "is empty",
    b"\xef\xbb\xbf\r\n": "is empty",
    b"plan\x00ted": "has a control character in its text",
    b"planted\nplanted": "has a control character in its text",
    b"planted\xff": "cannot be read: it is not UTF-8",
}
TOKENS = "the secret must be printable ASCII without spaces, such as the output of openssl rand -hex 32"
NO_TOKENS = (b"planted ", b" planted\n", "plant\u00e9".encode())


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [(name, *each) for name in PLACES for each in NO_SECRETS.items()]
    + [("token", content, TOKENS) for content in NO_TOKENS],
)
def test_a_file_without_a_secret_is_a_problem(tmp_path, name, content, told):
    """The secret itself may stand there by mistake, so not even the path is shown."""
    text, secret_of = PLACES[name]
    file = tmp_path / "planted"
    if content is not None:
        file.write_bytes(content)
    [problem] = problems_of(text % f"{file_of(name)}: '{file}'")
    assert problem.endswith(
        f"{file_of(name)}: *** is not allowed; must be a file that holds the secret, and {told}"
    )
    file.write_text("good")
    secret = secret_of(config_of(text % f"{file_of(name)}: '{file}'"))
    file.unlink()
    with pytest.raises(SecretError, match=f"^the file {file} of a secret cannot be read: No such file"):
        secret.reveal()


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("content", ["planted\n", "planted\r\n", "planted\n\n", "\ufeffplanted\r\n\r\n"])
def test_a_byte_order_mark_and_ends_of_lines_are_no_part_of_a_secret_wherever_it_stands(
    tmp_path, name, content
):
    text, secret_of = PLACES[name]
    file = tmp_path / "secret"
    file.write_bytes(content.encode())
    for written in (f"{name}: '${{A}}'", f"{file_of(name)}: '{file}'"):
        assert secret_of(config_of(text % written, {"A": content})).reveal() == "planted"


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(
    "content", ["plan\nted", "plan\tted", "plan\x85ted", "planted\n\x7f", "\n", "\ufeff"]
)
def test_a_secret_with_a_control_character_or_nothing_else_is_a_problem_and_is_not_shown(name, content):
    [problem] = problems_of(PLACES[name][0] % f"{name}: '${{A}}'", {"A": content})
    assert f".{name}: *** is not allowed; must be " in problem
    assert "ted" not in problem.partition("must be")[2].replace("printed", "")


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("tag", ["!!binary ", "!!int ", "!!null ", "!!timestamp ", "!!float '", "!!set {"])
def test_a_secret_with_a_tag_is_a_problem(name, tag):
    end = {"'": "'", "{": "}"}.get(tag[-1], "")
    problems = problems_of(PLACES[name][0] % f"{name}: {tag}cGxhbnRlZA{end}")
    assert f"{name}: begins with !, a tag of YAML, which is not read" in problems[0]
    assert "cGxh" not in f"{problems}"
    assert PLACES[name][1](config_of(PLACES[name][0] % f"{name}: !!str null")).reveal() == "null"


@pytest.mark.parametrize("name", PLACES)
def test_a_secret_stands_in_one_place(tmp_path, name):
    file = tmp_path / "secret"
    file.write_text("planted")
    [problem] = problems_of(PLACES[name][0] % f"{name}: planted, {file_of(name)}: '{file}'")
    assert problem.endswith(f"{name}: give {name} or {file_of(name)}, not both")


async def test_without_the_file_of_its_token_the_admin_port_is_closed(tmp_path):
    file = tmp_path / "secret"
    file.write_text("right")
    token = config_of(SMALLEST + f"admin: {{ token_file: '{file}' }}\n").admin.token
    headers, reading = [("authorization", "Bearer right")], Reading()
    assert await reading.knows(token, headers)
    file.write_text("other")
    assert not await reading.knows(token, headers)
    file.unlink()
    assert not await reading.knows(token, headers)
