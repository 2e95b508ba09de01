"""A configuration that is in force, as a file would say it: defaults included, secrets left out."""

from collections.abc import Mapping
from typing import Any

import yaml

from tsproxy.config.kinds import Key
from tsproxy.config.parsed import Parsed
from tsproxy.config.tree import TREE, Branch, ListOf


def as_yaml(parsed: Parsed) -> str:
    """YAML that reads as the same configuration, but for the secrets; what has no value is left out."""
    return yaml.safe_dump(_section(TREE, parsed), sort_keys=False, allow_unicode=True, width=1000)


def _section(branch: Branch, parsed: Parsed) -> Mapping[str, Any]:
    written = {name: _below(below, parsed[name]) for name, below in branch.items()}
    return {name: value for name, value in written.items() if value not in (None, [])}


def _below(below: Key | Branch | ListOf, value: Any) -> Any:
    if isinstance(below, Key):
        return _value(below, value)
    if isinstance(below, ListOf):
        return [_section(below.branch, item) for item in value]
    return None if value is None else _section(below, value)


def _value(key: Key, value: Any) -> Any:
    if key.is_list:
        return [_text(key, each) for each in value or ()]
    # Of some kinds None is a value, and reads as `off` or `unlimited`; of the others there is none.
    if value is None and key.default is None:
        return None
    return _text(key, value)


def _text(key: Key, value: Any) -> str | int:
    written = key.kind.write(value)
    return written if isinstance(written, int) else str(written).replace("${", "$${")
