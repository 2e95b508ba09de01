"""Compares a new configuration with the one in force: `reloaded`. Pure.

Each key's declaration says whether the key may change while the proxy runs (`Key.is_live`,
`SectionKeys.is_live`). A section or a listener of which one key must wait for a restart keeps all its values,
and the result names those that change. Half of an old section with half of a new one is one that nobody
wrote: without its token, before it asks for client certificates. A listener is known by its name, wherever it
is in the file; one that is added or removed waits without the others.
"""

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tsproxy.config.build import build
from tsproxy.config.keys import Key, SectionKeys
from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.settings import Config
from tsproxy.config.tree import TREE, join

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Reloaded:
    """`config` is in force from now on. `changed` are the keys with new values in `config`. The keys in
    `needs_restart` have new values in the file, but keep their old values in `config`."""

    config: Config
    changed: tuple[str, ...]
    needs_restart: tuple[str, ...]


def reloaded(running: Config, new: Config) -> Reloaded:
    """The parts of `new` that a running proxy can adopt. Raises ConfigError if the new values of live keys
    are not allowed together with the old values of the other keys."""
    comparison = _Comparison()
    parsed = comparison.section(TREE, running.parsed, new.parsed)
    problems: list[Problem] = []
    config = build(parsed, problems)
    if config is None:
        raise ConfigError(*problems)
    return Reloaded(config, tuple(comparison.changed), tuple(comparison.needs_restart))


@dataclass(slots=True)
class _Comparison:
    changed: list[str] = field(default_factory=list)
    needs_restart: list[str] = field(default_factory=list)

    def section(self, keys: SectionKeys, old: Parsed, new: Parsed) -> Parsed:
        values = {
            name: self._below(below, old[name], new[name], join(new.path, name))
            for name, below in keys.below.items()
        }
        return replace(new, values=values)

    def _below(self, below: Key | SectionKeys, old: Any, new: Any, path: str) -> Any:
        if old == new:
            return new
        if isinstance(below, Key):
            return self._chosen(old, new, path, is_live=below.is_live)
        if below.is_list and not below.is_live:
            return self._by_name(below, old, new, path)
        if below.is_list and len(old) == len(new):
            return tuple(self._whole(below, *pair) for pair in zip(old, new, strict=True))
        if below.is_list or old is None or new is None:
            return self._chosen(old, new, path, is_live=below.is_live)
        return self._whole(below, old, new)

    def _by_name(
        self, below: SectionKeys, old: tuple[Parsed, ...], new: tuple[Parsed, ...], path: str
    ) -> tuple[Parsed, ...]:
        """The old items in their old order, each with the new values of the item of its name."""
        running, wanted = ({item["name"]: item for item in items} for items in (old, new))
        self.needs_restart += [f"{path}.{name} (added)" for name in wanted if name not in running]
        self.needs_restart += [f"{path}.{name} (removed)" for name in running if name not in wanted]
        return tuple(self._whole(below, item, wanted.get(name, item)) for name, item in running.items())

    def _whole(self, keys: SectionKeys, old: Parsed, new: Parsed) -> Parsed:
        inner = _Comparison()
        section = inner.section(keys, old, new)
        self.needs_restart += inner.needs_restart
        if inner.needs_restart:
            self.needs_restart += inner.changed
            return old
        self.changed += inner.changed
        return section

    def _chosen(self, old: Value, new: Value, path: str, *, is_live: bool) -> Value:
        (self.changed if is_live else self.needs_restart).append(path)
        return new if is_live else old
