"""A configuration as written: nodes from YAML or from flags, each with its place.

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
from yaml.resolver import Resolver

from tsproxy.config.problems import ConfigError, Problem

_VARIABLE: Final = re.compile(r"\$(\$\{)|\$\{([^}]*)(\}?)")
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MERGE: Final = "tag:yaml.org,2002:merge"
_NULL: Final = "tag:yaml.org,2002:null"
_TEXT: Final = "tag:yaml.org,2002:str"
_RESOLVER: Final = Resolver()
_MAX_NODES: Final = 200_000
"""The most nodes in a document, with all aliases written out. Ten thousand rules have half as many nodes. A
few lines of aliases may stand for any number of nodes."""
_HINTS: Final = {
    "found character '\\t'": "indent with spaces: YAML allows no tabs",
    "expected <block end>": "this line's indentation differs from the lines it belongs to",
    "mapping values are not allowed here": "put a text with a colon and a space in quotes; or a line "
    "is indented otherwise",
    "expected ',' or": "a bracket or a brace is not closed, or a comma is missing",
    **dict.fromkeys(
        ("expected ',' or '}', but got '{'", "expected ',' or ']', but got '{'"),
        "or ${NAME} needs quotes, as between all braces and brackets",
    ),
    "found undefined alias": "put a text that begins with * or & in quotes",
    "expected alphabetic or numeric character": "put a text that begins with * or & in quotes",
}
"""The beginning of a message of the YAML parser -> the usual mistake behind it."""
_TAGGED: Final = (
    "begins with !, a tag of YAML, which is not read: put a text in quotes, and write ${NAME} for an "
    "environment variable"
)
_SHOWN: Final = re.compile(r"((?:found undefined|duplicate) [a-z ]+) ['\"].*", re.DOTALL)
"""Messages of the YAML parser that repeat a text of the file. This text may be a password, since a password
may begin with * or !."""
_BEHIND_A_WORD: Final = re.compile(r"[^\w.<-]")
_MAX_DEPTH: Final = 16  # the tree of keys is 5 deep; an alias may make a document endless


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value. If it `is_null`, it is none: nothing, `null` or `~`, without quotes."""

    text: str
    place: str
    is_null: bool = False

    def resolve(self, environ: Mapping[str, str]) -> str:
        """The text with each `${NAME}` replaced. `$${` becomes `${`. Raises ValueError for a variable that is
        not set, and for bytes that are not UTF-8."""

        def replace(match: re.Match[str]) -> str:
            escaped, variable, end = match.groups()
            if escaped:
                return str(escaped)
            if not end:
                raise ValueError("${ has no closing }; write $${ for a plain ${")
            if not _VARIABLE_NAME.fullmatch(variable):
                raise ValueError(
                    "${NAME} needs the name of an environment variable; write $${ for a plain ${"
                )
            if variable not in environ:
                raise ValueError(f"the environment variable {variable} is not set")
            return environ[variable]

        text = _VARIABLE.sub(replace, self.text)
        if text.encode(errors="ignore").decode() != text:
            raise ValueError("is not UTF-8")
        return text


@dataclass(frozen=True, slots=True)
class Items:
    nodes: tuple["Node", ...]
    place: str


@dataclass(slots=True)
class Section:
    """A mapping. Flags may add to it before it is read."""

    place: str
    entries: dict[str, "Node"] = field(default_factory=dict)
    key_places: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, node: "Node") -> None:
        self.entries[key] = node
        self.key_places[key] = node.place

    def section(self, key: str, place: str) -> "Section":
        """The section below `key`. If there is none, a new section replaces anything else below `key`."""
        section = self.entries.get(key)
        if not isinstance(section, Section):
            section = Section(place)
            self.put(key, section)
        return section


Node = Scalar | Items | Section


def as_key(name: str) -> str:
    """A key as problems show it: its first word, since a password may follow where a colon was forgotten."""
    word = re.split(_BEHIND_A_WORD, name, maxsplit=1)[0]
    return name if word == name else f"{word}…"


@dataclass(frozen=True, slots=True)
class Document:
    """A whole configuration as written. `problems` are mistakes in its shape, such as a repeated key."""

    root: Section
    problems: tuple[Problem, ...] = ()


def empty_document() -> Document:
    """A document that only flags fill."""
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
        message = _SHOWN.sub(r"\1", error.problem or error.context or "cannot be read")
        if message == "but found another document":
            raise ConfigError(Problem(place, "", "begins another document; a file has one")) from None
        hints = [f"; {hint}" for start, hint in _HINTS.items() if message.startswith(start)]
        raise ConfigError(Problem(place, "", f"not YAML: {''.join([message, *hints])}")) from None
    except yaml.YAMLError as error:
        raise ConfigError(Problem(source, "", f"not YAML: {error}".replace("\n", " "))) from None
    except RecursionError:  # libyaml's loader is ten times as fast, but here it would crash the process
        raise ConfigError(Problem(source, "", "nested too deeply")) from None
    if root is None or not root.value:
        # Also if flags would complete it: a file that was cut to nothing must not take the rules away.
        text = "is empty: a configuration needs at least upstream.bootstrap_servers and one of listeners"
        raise ConfigError(Problem(source, "", text))
    if not _is_small(root):
        text = f"stands for more than {_MAX_NODES:,} values, aliases written out"
        raise ConfigError(Problem(source, "", text))
    conversion = _Conversion(source)
    node = conversion.node(root, "")
    if not isinstance(node, Section):
        raise ConfigError(Problem(node.place, "", "the file must be a mapping: one `key: value` per line"))
    return Document(node, tuple(conversion.problems))


def _is_small(root: yaml.Node) -> bool:
    """True if there are at most `_MAX_NODES` nodes, with all aliases written out, down to the depth that is
    read."""
    waiting, count = [(root, 0)], 0
    while waiting and count <= _MAX_NODES:
        node, depth = waiting.pop()
        count += 1
        if depth > _MAX_DEPTH or isinstance(node, yaml.ScalarNode):
            continue
        below = (child for pair in node.value for child in (pair if isinstance(pair, tuple) else (pair,)))
        waiting += [(child, depth + 1) for child in below]
    return count <= _MAX_NODES


def _tag_of_form(node: yaml.Node) -> str:
    """The tag that YAML gives a node without one. Any other was written: `!!binary` would make another value
    of the text."""
    is_plain = isinstance(node, yaml.ScalarNode) and node.style is None
    tag = _RESOLVER.resolve(type(node), node.value, (is_plain, not is_plain))  # type: ignore[no-untyped-call]
    return str(tag)


@dataclass(slots=True)
class _Conversion:
    """Converts the YAML parser's nodes to our nodes. `key` is a node's path, and `depth` its depth."""

    source: str
    problems: list[Problem] = field(default_factory=list)

    def node(self, node: yaml.Node, key: str, depth: int = 0) -> Node:
        place = self._place(node)
        if depth > _MAX_DEPTH:
            self.problems.append(Problem(place, key, "nested too deeply"))
        elif node.tag not in (_TEXT, _tag_of_form(node)):
            self.problems.append(Problem(place, key, _TAGGED))
        elif isinstance(node, yaml.MappingNode):
            return self._section(node, key, depth)
        elif isinstance(node, yaml.SequenceNode):
            return Items(tuple(self.node(item, key, depth + 1) for item in node.value), place)
        elif node.tag == _NULL:
            return Scalar(str(node.value), place, is_null=True)
        return Scalar(str(node.value) if isinstance(node, yaml.ScalarNode) else "", place)

    def _section(self, node: yaml.MappingNode, key: str, depth: int) -> Section:
        section = Section(self._place(node))
        for key_node, value_node in node.value:
            place = self._place(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem(place, key, "a key must be a plain word"))
                continue
            name = str(key_node.value)
            full = f"{key}.{as_key(name)}" if key else as_key(name)
            if key_node.tag == _MERGE:
                text = "is not read: write the keys out, or give a whole value by its anchor (tls: *name)"
                self.problems.append(Problem(place, full, text))
            elif name in section.entries:
                first = section.key_places[name]
                self.problems.append(Problem(place, full, f"given twice; the first is at {first}"))
            else:
                section.put(name, self.node(value_node, full, depth + 1))
                section.key_places[name] = place
        return section

    def _place(self, node: yaml.Node) -> str:
        return f"{self.source}:{node.start_mark.line + 1}"
