"""The table of keys as the tree that documents are walked along."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tsproxy.config.keys import KEYS, OPTIONAL
from tsproxy.config.kinds import Key, OptionalSection

Branch = dict[str, "Key | Branch | ListOf"]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items are sections of one shape."""

    branch: Branch


def key_tree() -> Branch:
    """The table as a tree: section name -> key, section, or list of sections."""
    root: Branch = {}
    for key in KEYS:
        *sections, leaf = key.steps
        branch = root
        for section in sections:
            name = section.removesuffix("[]")
            below = branch.setdefault(name, ListOf({}) if section != name else {})
            assert not isinstance(below, Key), f"{key.path} lies below a key"
            branch = below.branch if isinstance(below, ListOf) else below
        branch[leaf] = key
    return root


TREE: Final = key_tree()

_OPTIONAL: Final[Mapping[str, OptionalSection]] = {each.path: each for each in OPTIONAL}


def optional_section(path: str) -> OptionalSection | None:
    """What the table says of leaving out the section `listeners[3].tls` or the list `policy.rules[]`."""
    return _OPTIONAL.get(_generic(path))


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _generic(path: str) -> str:
    """`listeners[3].tls` as the table writes it: `listeners[].tls`."""
    return ".".join(part.partition("[")[0] + "[]" if part.endswith("]") else part for part in path.split("."))
