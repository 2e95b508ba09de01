"""A key is declared once, on the field that holds its value; all else follows from that line."""

from dataclasses import fields
from types import UnionType
from typing import get_args, get_origin, get_type_hints

import pytest

from tests.config.files import SMALLEST, config_of
from tsproxy.config import load, put_setting, settings
from tsproxy.config.document import parse_yaml
from tsproxy.config.keys import Key, keys_of
from tsproxy.config.reloaded import reloaded
from tsproxy.config.settings.limits import SESSION_LIMITS
from tsproxy.config.settings.policy import CANDIDATE, DEFAULTS, POLICY, RULE, WAIVER
from tsproxy.config.tree import KEYS, OPTIONAL
from tsproxy.model.policy import Match, Policy, Rule, RuleSettings, Waiver
from tsproxy.model.view import SessionLimits

NOT_CONFIGURED = {
    SessionLimits: set(),
    Match: set(),
    Waiver: {"place"},
    Rule: {"settings", "place"},
    RuleSettings: {"before", "after", "custom_rules"},
    Policy: {"is_suspended"},
}
"""Fields without a key of their name: `build_policy` makes them of several keys, or the file has none."""
KEYS_OF = {
    SessionLimits: SESSION_LIMITS,
    Match: RULE["match"].below,
    Waiver: WAIVER,
    Rule: RULE,
    RuleSettings: RULE,
    Policy: POLICY,
}


@pytest.mark.parametrize("lower", KEYS_OF, ids=lambda each: each.__name__)
def test_every_field_of_a_lower_layers_class_has_its_key(lower):
    names = {each.name for each in fields(lower) if each.init}

    assert names - KEYS_OF[lower].keys() == NOT_CONFIGURED[lower]


def test_defaults_and_the_candidate_have_keys_that_rules_have():
    assert DEFAULTS.keys() <= RULE.keys()
    assert CANDIDATE.keys() <= RULE.keys()


CLASSES = [
    each
    for name in settings.__all__
    if hasattr(each := getattr(settings, name), "__dataclass_fields__") and keys_of(each)
]


@pytest.mark.parametrize("made", CLASSES, ids=lambda each: each.__name__)
def test_a_default_has_the_type_of_its_field(made):
    hints = get_type_hints(made)
    for name, declared in keys_of(made).items():
        if isinstance(declared, Key) and declared.default is not None:
            hint = hints[name]
            of = get_args(hint) if isinstance(hint, UnionType) else (hint,)
            assert isinstance(declared.kind.parse(declared.default), (*map(_plain, of),)), name


def _plain(hint):
    return get_origin(hint) or hint


OTHER = {
    "duration": "7s",
    "duration or `off`": "7s",
    "duration or `never`": "7s",
    "duration or `unlimited`": "7s",
    "duration up to 1d": "7s",
    "duration that divides an hour": "5m",
    "size": "7MiB",
    "size or `unlimited`": "7MiB",
    "number": "7",
    "path": "elsewhere",
    "text": "word",
    "text of at most 200 bytes": "word",
    "secret": "word",
    "path of a file that exists": "/proc/sys/kernel/ostype",  # one word, as a token is
    "host": "a.example",
    "list of host": "a.example",
    "list of host:port": "a.example:1",
    "host:port or `off`": "127.0.0.1:1",
    "`yes` or `no`": "yes",
    "duration, milliseconds or `unlimited`": "1234",
}
"""A value of each kind that is nobody's default."""
WITH_OTHERS = ("policy.defaults.dead_letters",)
"""Keys whose other values need other keys as well."""
ALONE = [
    key
    for key in KEYS
    if "[]" not in key.path
    and not any(key.path.startswith(f"{each.path}.") for each in OPTIONAL)
    and key.path not in WITH_OTHERS
]


@pytest.mark.parametrize("key", ALONE, ids=lambda key: key.path)
def test_a_reload_takes_a_new_value_if_and_only_if_the_key_is_live(key):
    kind = f"list of {key.kind.word}" if key.is_list else key.kind.word
    choices = [each for each in key.kind.choices if each != key.default]
    value = choices[0] if choices else OTHER[kind]

    change = reloaded(config_of(SMALLEST), with_value(key.path, value))

    assert (key.path in change.changed, key.path in change.needs_restart) == (key.is_live, not key.is_live)
    assert (change.config == config_of(SMALLEST)) is not key.is_live


def with_value(path, value):
    """The smallest configuration with this value set over it."""
    document = parse_yaml(SMALLEST, "tsproxy.yaml")
    put_setting(document, f"{path}={value}")
    return load(document, {})
