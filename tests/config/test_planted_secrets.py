"""A secret in a file that is wrong stays in the file: no problem repeats it, however it is written.

A problem is printed, and a reload that fails writes it to the log.
"""

import pytest

from tests.config.files import SMALLEST, config_of
from tests.planted import traces
from tsproxy.cli import main
from tsproxy.config import ConfigError, empty_document, put_setting

UPSTREAM = "upstream:\n  bootstrap_servers: [kafka-1:9092]\n"
SECRET = "PlantedSecretOf27Signs"
PLACES = {
    "a password": f"{UPSTREAM}  admin: {{{{ sasl: {{{{ username: me, password: {{}} }}}} }}}}",
    "a password in lines": f"{UPSTREAM}  admin:\n    sasl:\n      username: me\n      password: {{}}",
    "a token": "admin:\n  token: {}",
    "a key that is misspelt": "admin:\n  tokn: {}",
    "a key of Kafka's own files": "sasl.jaas.config: {}",
    "no colon": "admin:\n  token {}",
    "no blank behind the colon": "admin:\n  token:{}",
    "no colon in braces": "admin: {{ token {} }}",
    "behind a comma in braces": "admin: {{ token: some,{} }}",
    "a value where a section is due": "admin: {}",
}
WRITTEN = {
    "plain": SECRET,
    "quoted": f"'{SECRET}",
    "a blank inside": f"{SECRET} {SECRET}",
    "a tag": f"!{SECRET}",
    "a tag with a handle": f"!{SECRET}!x",
    "a tag before a mapping": f"!{SECRET} {{a: b}}",
    "an alias": f"*{SECRET}",
    "an anchor twice": f"[&{SECRET} a, &{SECRET} b]",
    "a list": f"[{SECRET}]",
    "a list that is not closed": f"[{SECRET}",
    "a mapping": f"{{ {SECRET} }}",
    "a comma in braces": f"{{ a: b,{SECRET} }}",
    "a percent sign": f"%{SECRET}",
    "an at sign": f"@{SECRET}",
    "a back quote": f"`{SECRET}",
    "a colon behind it": f"{SECRET}: x",
    "a variable without end": f"${{{SECRET}",
    "an escape": f'"{SECRET}\\q"',
    "a tab": f"{SECRET}\t: x",
    "a control character": f"\x07{SECRET}",
}


def told_of(text: str) -> str:
    """All that is said of a file: its problems, or the configuration as it is shown."""
    try:
        return repr(config_of(text))
    except ConfigError as error:
        return "\n".join([str(error), *map(str, error.problems)])


KEYS = {("a value where a section is due", "a mapping"), ("behind a comma in braces", "a colon behind it")}
"""Then it is a key as any other."""
CASES = {
    f"{place}, {way}": PLACES[place].format(WRITTEN[way])
    for place in PLACES
    for way in WRITTEN
    if (place, way) not in KEYS
}


@pytest.mark.parametrize("lines", CASES.values(), ids=CASES)
def test_no_problem_repeats_a_secret(lines: str):
    text = f"{SMALLEST.replace('upstream:', '#', 1) if lines.startswith(UPSTREAM) else SMALLEST}{lines}\n"
    assert SECRET in text
    assert traces(told_of(text), {"secret": SECRET}) == []


BASE64 = f"{SECRET}=="
SETTINGS = ["admin.token", "upstream.admin.sasl.password", "listeners.tls.key_password", "admin", "token"]
FORGOTTEN = [" ", ": ", ":", "\t", "\u00a0", "/", "->", "|", ",", ";", "'", "@", "[", "{", "-", "_", ".", ""]
UNLIKE_A_NAME = FORGOTTEN.index("-")
"""With one of the others, and a value, the secret is a name as any other."""


@pytest.mark.parametrize("secret", [SECRET, BASE64, f"{SECRET}=x"])
@pytest.mark.parametrize("key", SETTINGS)
def test_no_problem_of_a_flag_repeats_a_secret(key: str, secret: str):
    """The = was forgotten. A secret in base64 has one at its end."""
    for between in FORGOTTEN if not secret.endswith("x") else FORGOTTEN[:UNLIKE_A_NAME]:
        with pytest.raises(ConfigError) as caught:
            put_setting(empty_document(), f"{key}{between}{secret}")
        assert traces(str(caught.value), {"secret": SECRET}) == []


@pytest.mark.parametrize(
    "words", ["admin.token {}", "admin.token: {}", "admin.token= {}", "admin.token = {}"]
)
@pytest.mark.parametrize("secret", [SECRET, BASE64])
def test_no_command_repeats_a_secret_that_a_blank_parts_from_its_key(words: str, secret: str, capsys):
    with pytest.raises(SystemExit):
        main(["run", "--upstream", "a:1", "--listen", "b:1", "--set", *words.format(secret).split()])
    captured = capsys.readouterr()
    assert "--set: must be KEY=VALUE" in captured.err
    assert traces(captured.out + captured.err, {"secret": SECRET}) == []
