"""What a configuration that was read anew means for a proxy that runs. Pure.

The table of keys says which values may change while it runs (`Key.is_live`, `OptionalSection.is_live`).
All others stay as they are, and are named. An item of a list (a listener) of which anything must wait
for a restart waits as a whole: items are told apart by their place in the list alone, and half of one
beside half of another would be a listener that nobody wrote.
"""

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tsproxy.config.build import build
from tsproxy.config.kinds import Key
from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.settings import Config
from tsproxy.config.tree import TREE, Branch, ListOf, join, optional_section

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Reloaded:
    """`config` is what shall run from now on. `changed`: keys that it has new values for;
    `needs_restart`: keys of the file whose new values it does not have."""

    config: Config
    changed: tuple[str, ...]
    needs_restart: tuple[str, ...]


def reloaded(running: Config, wanted: Config) -> Reloaded:
    """`wanted`, as far as a running proxy can take it. Raises ConfigError where the values that can
    change and those that cannot do not go together."""
    comparison = _Comparison()
    parsed = comparison.section(TREE, running.parsed, wanted.parsed)
    problems: list[Problem] = []
    config = build(parsed, problems)
    if config is None:
        raise ConfigError(*problems)
    return Reloaded(config, tuple(comparison.changed), tuple(comparison.needs_restart))


@dataclass(slots=True)
class _Comparison:
    changed: list[str] = field(default_factory=list)
    needs_restart: list[str] = field(default_factory=list)

    def section(self, branch: Branch, old: Parsed, new: Parsed) -> Parsed:
        values = {
            name: self._below(below, old[name], new[name], join(new.path, name))
            for name, below in branch.items()
        }
        return replace(new, values=values)

    def _below(self, below: Key | Branch | ListOf, old: Any, new: Any, path: str) -> Any:
        if old == new:
            return new
        if isinstance(below, Key):
            return self._chosen(old, new, path, is_live=below.is_live)
        if isinstance(below, ListOf):
            return self._items(below, old, new, path)
        if old is None or new is None:
            may_appear = optional_section(path)
            return self._chosen(old, new, path, is_live=may_appear is not None and may_appear.is_live)
        return self.section(below, old, new)

    def _items(
        self, below: ListOf, old: tuple[Parsed, ...], new: tuple[Parsed, ...], path: str
    ) -> tuple[Parsed, ...]:
        may_grow = optional_section(f"{path}[]")
        if len(old) != len(new):
            return self._chosen(old, new, path, is_live=may_grow is not None and may_grow.is_live)
        return tuple(self._item(below.branch, *pair) for pair in zip(old, new, strict=True))

    def _item(self, branch: Branch, old: Parsed, new: Parsed) -> Parsed:
        inner = _Comparison()
        item = inner.section(branch, old, new)
        self.needs_restart += inner.needs_restart
        if inner.needs_restart:
            self.needs_restart += inner.changed
            return old
        self.changed += inner.changed
        return item

    def _chosen(self, old: Value, new: Value, path: str, *, is_live: bool) -> Value:
        (self.changed if is_live else self.needs_restart).append(path)
        return new if is_live else old
