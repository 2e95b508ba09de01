"""A user and a password in front of an address are no part of a configuration, and a token may stand at the
wrong key: no error repeats them, wherever."""

import pytest

from tests.config.files import config_of, file_with
from tests.planted import traces
from tsproxy.cli import main
from tsproxy.config import ConfigError
from tsproxy.config.problems import shown
from tsproxy.config.tree import KEYS

SECRET = "PlantedSecretOf27Signs"
WRITTEN = {
    "a URL": f"https://user:{SECRET}@example.com:9092/token",
    "an address": f"user:{SECRET}@example.com:9092",
    "a listener": f"SASL_SSL://user:{SECRET}@example.com:9092",
    "a word": f"{SECRET}@example.com",
    "two of them": f"user:{SECRET}@{SECRET}@example.com:9092",
    "a long one": f"https://{'u' * 50}:{SECRET}@example.com:9092/token",
    "a blank": f"user:{SECRET} @ example.com:9092",
    "a token alone": SECRET,
    "a token in base64": f"x {SECRET}+/==",
    "a comma": f"a:9092, user:{SECRET}@example.com:9092",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_no_error_about_any_key_repeats_a_token_or_what_stands_before_an_at_sign(text: str):
    told, errors = {}, 0
    for key in KEYS:
        for value in (text, [text]):
            try:
                config_of(file_with(key.path, value))
            except ConfigError as error:
                errors += 1
                if traces(f"{error} {error.problems}", {"secret": SECRET}):
                    told[key.path] = str(error)
    assert errors > len(KEYS) / 2
    assert told == {}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize(
    "words",
    [
        ["run", "--upstream"],
        ["run", "--listen"],
        ["run", "--admin"],
        ["scan", "--upstream"],
        ["doctor", "--upstream"],
        ["run", "--set"],
    ],
    ids=" ".join,
)
def test_no_flag_repeats_it(words: list[str], text: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        raise SystemExit(main([*words, text]))
    captured = capsys.readouterr()
    assert traces(captured.out + captured.err, {"secret": SECRET}) == []


@pytest.mark.parametrize(
    "name", ["orders/v2/dead-letters/europe", "kafka-prod-eu-west-1-broker", "/etc/kafka2/certificate"]
)
def test_a_name_or_a_path_is_told_as_it_is_and_a_secret_with_such_parts_is_not(name: str):
    assert shown(name) == repr(name)
    for secret in (f"{name}/{SECRET}", f"{name}-123e4567-e89b-12d3-a456-426614174000"):
        assert shown(secret) == "'***'"
