"""The configuration in force as a file, with defaults and without secrets."""

from collections.abc import Container, Mapping
from typing import Any

import yaml

from tsproxy.config.keys import Key, SectionKeys
from tsproxy.config.parsed import Parsed
from tsproxy.config.tree import TREE


def as_yaml(parsed: Parsed, *, without: Container[str] = ()) -> str:
    """YAML of the same configuration, except for secrets, and for the sections in `without`. Keys without a
    value are left out."""
    shown = {name: value for name, value in _section(TREE, parsed).items() if name not in without}
    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=1000)


def _section(keys: SectionKeys, parsed: Parsed) -> Mapping[str, Any]:
    written = {name: _below(below, parsed[name]) for name, below in keys.below.items()}
    return {name: value for name, value in written.items() if value not in (None, [])}


def _below(below: Key | SectionKeys, value: Any) -> Any:
    if isinstance(below, Key):
        return _value(below, value)
    if below.is_list:
        return [_section(below, item) for item in value]
    return None if value is None else _section(below, value)


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
