"""A configuration as written: nodes that know their place, whether from YAML or from a flag.

Every scalar stays the text that was written: the key's parser, not YAML, decides the meaning of `off`, `1:30`
or `010`. `${NAME}` is replaced from the environment when a value is read, never in the document, so that an
error can show the text as written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from tsproxy.config.problems import ConfigError, Problem

_VARIABLE: Final = re.compile(r"\$(\$\{)|\$\{([^}]*)(\}?)")
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MERGE: Final = "tag:yaml.org,2002:merge"
_MOST_NODES: Final = 200_000
"""Counted with aliases written out: ten thousand rules have half as many; a few lines of aliases may have
any number."""
_HINTS: Final = {
    "found character '\\t'": "indent with blanks: YAML takes no tabs",
    "expected <block end>": "this line is indented otherwise than those that it belongs to",
    "mapping values are not allowed here": "a text with a colon and a blank stands in quotes; or a line "
    "is indented otherwise",
    "expected ',' or": "a bracket or a brace is not closed, or a comma is missing",
    "found undefined alias": "a text that begins with * or & stands in quotes",
    "expected alphabetic or numeric character": "a text that begins with * or & stands in quotes",
}
"""The usual mistake behind a message of the YAML parser."""
_MAX_DEPTH: Final = 16  # the tree of keys is 5 deep; an alias may make a document endless


@dataclass(frozen=True, slots=True)
class Scalar:
    text: str
    place: str

    def resolve(self, environ: Mapping[str, str]) -> str:
        """The text with each `${NAME}` replaced; `$${` stands for a plain `${`.

        Raises ValueError for a variable that is not set.
        """

        def replace(match: re.Match[str]) -> str:
            escaped, variable, end = match.groups()
            if escaped:
                return str(escaped)
            if not end:
                raise ValueError("${ has no } behind it; $${ stands for a plain ${")
            if not _VARIABLE_NAME.fullmatch(variable):
                raise ValueError(
                    "${NAME} needs the name of an environment variable; $${ stands for a plain ${"
                )
            if variable not in environ:
                raise ValueError(f"the environment variable {variable} is not set")
            return environ[variable]

        return _VARIABLE.sub(replace, self.text)


@dataclass(frozen=True, slots=True)
class Items:
    nodes: tuple["Node", ...]
    place: str


@dataclass(slots=True)
class Section:
    """A mapping. Only flags add to it, before anything is read from it."""

    place: str
    entries: dict[str, "Node"] = field(default_factory=dict)
    key_places: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, node: "Node") -> None:
        self.entries[key] = node
        self.key_places[key] = node.place

    def section(self, key: str, place: str) -> "Section":
        """The section below `key`; made if there is none, or something else, yet."""
        found = self.entries.get(key)
        if not isinstance(found, Section):
            found = Section(place)
            self.put(key, found)
        return found


Node = Scalar | Items | Section


@dataclass(frozen=True, slots=True)
class Document:
    """A whole configuration as written. `problems` are those of its shape (a key given twice)."""

    root: Section
    problems: tuple[Problem, ...] = ()


def empty_document() -> Document:
    """A document to be filled from flags alone."""
    return Document(Section("command line"))


def read_yaml(file: Path) -> Document:
    """The YAML file as a document. Raises ConfigError if it cannot be read or is not YAML."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(Problem(str(file), "", f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        raise ConfigError(Problem(str(file), "", f"is not UTF-8 text: byte {error.start}")) from None
    return parse_yaml(text, str(file))


def parse_yaml(text: str, source: str) -> Document:
    """YAML text as a document; `source` names it in problems."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}" if mark else source
        said = error.problem or error.context or "cannot be read"
        if said == "but found another document":
            raise ConfigError(Problem(place, "", "begins another document; a file has one")) from None
        hints = [f"; {hint}" for start, hint in _HINTS.items() if said.startswith(start)]
        raise ConfigError(Problem(place, "", f"not YAML: {''.join([said, *hints])}")) from None
    except yaml.YAMLError as error:
        raise ConfigError(Problem(source, "", f"not YAML: {error}".replace("\n", " "))) from None
    except RecursionError:  # (libyaml's own loader, ten times as fast, crashes the process here)
        raise ConfigError(Problem(source, "", "nested too deeply")) from None
    if root is None:
        return Document(Section(source))
    if not _is_small(root):
        text = f"stands for more than {_MOST_NODES:,} values, aliases written out"
        raise ConfigError(Problem(source, "", text))
    problems: list[Problem] = []
    node = _convert(root, source, "", problems)
    if not isinstance(node, Section):
        raise ConfigError(Problem(node.place, "", "the file must be a mapping: one `key: value` a line"))
    return Document(node, tuple(problems))


def _is_small(root: yaml.Node) -> bool:
    """True if the node with all its aliases written out is small, down to the depth that is read."""
    waiting, count = [(root, 0)], 0
    while waiting and count <= _MOST_NODES:
        node, depth = waiting.pop()
        count += 1
        if depth > _MAX_DEPTH or isinstance(node, yaml.ScalarNode):
            continue
        below = (each for pair in node.value for each in (pair if isinstance(pair, tuple) else (pair,)))
        waiting += [(each, depth + 1) for each in below]
    return count <= _MOST_NODES


def _convert(node: yaml.Node, source: str, key: str, problems: list[Problem], depth: int = 0) -> Node:
    place = f"{source}:{node.start_mark.line + 1}"
    if depth > _MAX_DEPTH:
        problems.append(Problem(place, key, "nested too deeply"))
    elif node.tag.startswith("!"):
        text = f"{node.tag} is not read: write the value itself, or ${{NAME}} for an environment variable"
        problems.append(Problem(place, key, text))
    elif isinstance(node, yaml.MappingNode):
        return _convert_mapping(node, source, key, problems, depth)
    elif isinstance(node, yaml.SequenceNode):
        return Items(tuple(_convert(n, source, key, problems, depth + 1) for n in node.value), place)
    return Scalar(str(node.value) if isinstance(node, yaml.ScalarNode) else "", place)


def _convert_mapping(
    node: yaml.MappingNode, source: str, key: str, problems: list[Problem], depth: int
) -> Section:
    section = Section(f"{source}:{node.start_mark.line + 1}")
    for key_node, value_node in node.value:
        place = f"{source}:{key_node.start_mark.line + 1}"
        if not isinstance(key_node, yaml.ScalarNode):
            problems.append(Problem(place, key, "a key must be a plain word"))
            continue
        name = str(key_node.value)
        full = f"{key}.{name}" if key else name
        if key_node.tag == _MERGE:
            text = "is not read: write the keys out, or give a whole value by its anchor (tls: *name)"
            problems.append(Problem(place, full, text))
            continue
        if name in section.entries:
            first = section.key_places[name]
            problems.append(Problem(place, full, f"given twice; the first is at {first}"))
            continue
        section.put(name, _convert(value_node, source, full, problems, depth + 1))
        section.key_places[name] = place
    return section
