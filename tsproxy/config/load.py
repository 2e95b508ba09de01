"""Reads a document along the tree of keys, and returns a `Config` or reports every problem at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tsproxy.config.build import build
from tsproxy.config.document import Document, Items, Node, Scalar, Section, as_key
from tsproxy.config.keys import Key, SectionKeys, file_of
from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import HIDDEN, ConfigError, FileProblem, Problem, shown
from tsproxy.config.removed import removed
from tsproxy.config.settings import Config
from tsproxy.config.synonyms import names_here
from tsproxy.config.tree import KEYS, SECTIONS, TREE, join, paths_of, steps_of
from tsproxy.config.values import UnusableSecretError
from tsproxy.model.words import likely, unknown


def load(document: Document, environ: Mapping[str, str]) -> Config:
    """The configuration that `document` describes. `environ` replaces each `${NAME}`.

    Raises ConfigError with all problems.
    """
    reader = _Reader(environ, list(document.problems))
    parsed = reader.section(document.root, TREE, "", document.root.place)
    config = build(parsed, reader.problems)
    if config is None:
        raise ConfigError(*reader.problems)
    return config


def put_setting(document: Document, setting: str, place: str = "--set") -> None:
    """Writes `key=value` into the document. `place` is the flag that sets it. Raises ConfigError for a wrong
    key."""
    path, equals, text = setting.partition("=")
    told = _told(path, text)
    if not equals or (as_key(path) != path and not text.strip("=")):
        raise ConfigError(Problem(place, told, "must be key=value, such as policy.mode=off"))
    *sections, leaf = steps_of(path)
    keys, section = TREE, document.root
    for name in sections:
        below = keys.below.get(name)
        if not isinstance(below, SectionKeys):
            raise ConfigError(Problem(place, told, _unknown(name, keys)))
        if below.is_list:
            text = f"is in the list {name!r}: set it in a file (--config)"
            raise ConfigError(Problem(place, told, text))
        keys, section = below, section.section(name, place)
    if not isinstance(keys.below.get(leaf), Key):
        raise ConfigError(Problem(place, told, _unknown(leaf, keys)))
    section.put(leaf, Scalar(text, place))


def _told(path: str, value: str) -> str:
    """The path of a flag as problems show it, since a secret may follow where the = was forgotten. Without a
    value only names that are known are shown: a = is also the end of a secret in base64."""
    if value.strip("="):
        return as_key(path)
    known: list[str] = []
    keys: Key | SectionKeys | None = TREE
    for name in steps_of(as_key(path).removesuffix("…")):
        keys = keys.below.get(name) if isinstance(keys, SectionKeys) else None
        if keys is None:
            return ".".join([*known, "…"])
        known.append(name)
    return ".".join(known)


@dataclass(slots=True)
class _Reader:
    environ: Mapping[str, str]
    problems: list[Problem]

    def section(self, node: Section | None, keys: SectionKeys, path: str, place: str) -> Parsed:
        """All values of a section, with defaults. `place` is for problems about missing keys."""
        before = len(self.problems)
        entries = node.entries if node else {}
        for name, entry in entries.items():
            if name not in keys.below and node is not None:
                self.problems.append(_unknown_key(name, entry, keys, path, node.key_places[name]))
        parsed: dict[str, Any] = {}
        for name, below in keys.below.items():
            parsed[name] = self._below(entries.get(name), below, join(path, name), place)
        for name in keys.below:
            if parsed[name] is not None and parsed.get(file_of(name)) is not None:
                text = f"give {name} or {file_of(name)}, not both"
                self.problems.append(Problem(place, join(path, name), text))
        return Parsed(parsed, place, path, is_sound=len(self.problems) == before)

    def _below(self, node: Node | None, below: Key | SectionKeys, path: str, place: str) -> Any:
        if isinstance(below, Key):
            return self._key(node, below, path, place)
        if below.is_list:
            return self._sections(node, below, path, place)
        if node is None:
            return None if below.is_optional else self.section(None, below, path, place)
        if isinstance(node, Section):
            return self.section(node, below, path, node.place)
        example = f", such as {below.example}" if below.example else ""
        return self._wrong(node, path, f"must be a section with {', '.join(below.below)}{example}")

    def _sections(self, node: Node | None, below: SectionKeys, path: str, place: str) -> tuple[Parsed, ...]:
        names = ", ".join(below.below)
        if node is None:
            if not below.is_optional:
                self.problems.append(Problem(place, path, f"is missing: a list of sections with {names}"))
            return ()
        if not isinstance(node, Items) or not (node.nodes or below.is_optional):
            first = next(iter(below.below))
            dash = f"; a dash begins each (- {first}: …)" if isinstance(node, Section) else ""
            self._wrong(node, path, f"must be a list of sections with {names}{dash}")
            return ()
        parsed = []
        for index, item in enumerate(node.nodes):
            item_path = f"{path}[{index}]"
            if isinstance(item, Section):
                parsed.append(self.section(item, below, item_path, item.place))
            else:
                self._wrong(item, item_path, f"must be a section with {names}")
        return tuple(parsed)

    def _key(self, node: Node | None, key: Key, path: str, place: str) -> Any:
        if node is None and key.default is not None:
            return key.kind.parse(key.default)
        if node is None:
            if key.is_required:
                self.problems.append(Problem(place, path, f"is missing: {key.kind.word} ({key.meaning})"))
            return () if key.is_list else None
        if not key.is_list:
            return self._scalar(node, key, path)
        parsed = self._list(node, key, path)
        if not parsed:
            self._wrong(node, path, f"must name at least one {key.kind.word}")
        return parsed

    def _list(self, node: Node, key: Key, path: str) -> tuple[Any, ...]:
        if not isinstance(node, Scalar):
            nodes = node.nodes if isinstance(node, Items) else (node,)
            return tuple(self._scalar(item, key, path) for item in nodes)
        text = self._resolved(node, path)
        if text is None:
            return (None,)
        if "," in text and not key.kind.has_no_comma:
            # Two patterns in place of one would let others have its waiver.
            written = shown(node.text)
            told = f"{written} has a comma: write [{written}] if it is one item, or a list of several"
            self._wrong(node, path, told)
            return (None,)
        items = [item.strip() for item in text.split(",") if item.strip()]
        written_as = [Scalar(item, node.place) if text == node.text else node for item in items]
        return tuple(self._parsed(item, it, key, path) for item, it in zip(items, written_as, strict=True))

    def _scalar(self, node: Node, key: Key, path: str) -> Any:
        if not isinstance(node, Scalar):
            return self._wrong(node, path, f"must be one value: {key.kind.word}")
        text = self._resolved(node, path)
        return None if text is None else self._parsed(text, node, key, path)

    def _resolved(self, node: Scalar, path: str) -> str | None:
        if node.is_null:
            # A text would be another value: with the token "null" anybody may read.
            quotes = f" (the text {node.text} needs quotes)" if node.text else ""
            self._wrong(node, path, f"has no value: give it one, or leave the key out{quotes}")
            return None
        try:
            return node.resolve(self.environ)
        except ValueError as error:
            self._wrong(node, path, str(error))
            return None

    def _parsed(self, text: str, node: Scalar, key: Key, path: str) -> Any:
        """The value of `text`. An error shows `node`, the text as written, since a variable may hold a secret
        in the wrong place."""
        try:
            return key.kind.parse(text)
        except ValueError as error:
            written = HIDDEN if key.kind.is_secret else shown(node.text)
            advice = key.kind.advice(node.text) if written == repr(node.text) else None  # it repeats the text
            more = f"; {advice}" if advice else ""
            kind = FileProblem if isinstance(error, UnusableSecretError) else Problem
            return self._wrong(node, path, f"{written} is not allowed; must be {error}{more}", kind)

    def _wrong(self, node: Node, path: str, text: str, kind: type[Problem] = Problem) -> None:
        self.problems.append(kind(node.place, path, text))


def _unknown_key(name: str, entry: Node, keys: SectionKeys, path: str, place: str) -> Problem:
    """A problem that names the key, unless the key may be the end of a password: `{ password: one,two }` has
    a key `two` without a value."""
    is_bare = isinstance(entry, Scalar) and not entry.text
    if is_bare and likely(name, keys.below) is None and removed(join(keys.path, name)) is None:
        text = "a key without a value, which is unknown (put a text with a comma in quotes)"
        return Problem(place, path, f"{text}; allowed here: {', '.join(keys.below)}")
    return Problem(place, join(path, as_key(name)), _unknown(name, keys))


def _unknown(name: str, keys: SectionKeys) -> str:
    """A text that says that a key is unknown, and names the nearest one, here or elsewhere; or that it was
    removed, and what to do instead."""
    if text := removed(join(keys.path, name)):
        return text
    dotted = [key for key in keys.below if key.startswith(f"{name}.")]
    if dotted:
        return f"unknown key; it is one key here, with its dots: {', '.join(dotted)}"
    *sections, leaf = steps_of(name)
    if sections and _leads_to_key([*sections, leaf], keys):
        opened = "".join(f"{section}: {{ " for section in sections)
        return f"unknown key; write a section for each dot: {opened}{leaf}: …{' }' * len(sections)}"
    names = names_here(name)
    here = [key for key in keys.below if key in names]
    elsewhere = paths_of(names, (*KEYS, *SECTIONS))
    elsewhere.sort(key=lambda path: not path.startswith(f"{keys.path}."))  # what is below here comes first
    return unknown("key", name, keys.below, [*here, *elsewhere])


def _leads_to_key(steps: Iterable[str], keys: SectionKeys) -> bool:
    below: Key | SectionKeys | None = keys
    for step in steps:
        below = below.below.get(step) if isinstance(below, SectionKeys) and not below.is_list else None
    return isinstance(below, Key)
