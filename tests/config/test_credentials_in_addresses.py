"""A user and a password in front of an address are no part of a configuration: no error repeats them,
wherever."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.config.files import SMALLEST, config_of
from tests.planted import traces
from tsproxy.cli import main
from tsproxy.config import ConfigError
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
    "a comma": f"a:9092, user:{SECRET}@example.com:9092",
}


def nested(path: str, value: str) -> Any:
    """A document with this value at `listeners[].bind`."""
    first, _, rest = path.partition(".")
    below = nested(rest, value) if rest else value
    return {first.removesuffix("[]"): [below] if first.endswith("[]") else below}


def merged(base: Any, change: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(change, Mapping):
        return {**base, **{name: merged(base.get(name), value) for name, value in change.items()}}
    if isinstance(base, list) and isinstance(change, list) and isinstance(change[0], Mapping):
        return [merged(base[0], change[0])]
    return change


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_no_error_about_any_key_repeats_what_stands_before_an_at_sign(text: str):
    base = yaml.safe_load(SMALLEST)
    told, errors = {}, 0
    for key in KEYS:
        for value in (text, [text]):
            document = merged(base, nested(key.path, value))
            try:
                config_of(yaml.safe_dump(document))
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
