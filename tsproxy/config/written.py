"""The configuration in force as a file, with defaults and without secrets."""

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from tsproxy.config.keys import Key, SectionKeys
from tsproxy.config.parsed import Parsed
from tsproxy.config.tree import TREE

IsShown = Callable[[Key | SectionKeys], bool]


def as_yaml(parsed: Parsed, is_shown: IsShown = lambda _: True) -> str:
    """YAML of the same configuration, except for secrets, and for what is not to be shown. Keys without a
    value are left out."""
    shown = _section(TREE, parsed, is_shown)
    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=1000)


def _section(keys: SectionKeys, parsed: Parsed, is_shown: IsShown) -> Mapping[str, Any]:
    shown = {name: below for name, below in keys.below.items() if is_shown(below)}
    written = {name: _below(below, parsed[name], is_shown) for name, below in shown.items()}
    return {name: value for name, value in written.items() if value not in (None, [])}


def _below(below: Key | SectionKeys, value: Any, is_shown: IsShown) -> Any:
    if isinstance(below, Key):
        return _value(below, value)
    if below.is_list:
        return [_section(below, item, is_shown) for item in value]
    return None if value is None else _section(below, value, is_shown)


def _value(key: Key, value: Any) -> Any:
    if key.is_list:
        return [_text(key, item) for item in value or ()]
    # None is a value of some kinds (`off`, `unlimited`). With any other kind it means that there is no value.
    if value is None and key.default is None:
        return None
    return _text(key, value)


def _text(key: Key, value: Any) -> str | int:
    written = key.kind.write(value)
    return written if isinstance(written, int) else str(written).replace("${", "$${")
