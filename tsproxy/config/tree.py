"""The declared keys, as a tree (`TREE`) and as a list (`KEYS`). Documents are read along the tree."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Final

from tsproxy.config.keys import Key, Keys, SectionKeys, file_of, keys_of, name_of
from tsproxy.config.kinds import file_with
from tsproxy.config.settings import Config

_KAFKA_NAMES: Final = "message.timestamp."


def steps_of(path: str) -> list[str]:
    """The names on the path to a key. A Kafka name with dots is a single name here."""
    above, kafka_name, rest = path.partition(_KAFKA_NAMES)
    return [*above.split(".")[:-1], kafka_name + rest] if kafka_name else path.split(".")


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _grow(section: SectionKeys, declared: Keys) -> SectionKeys:
    """`section`, after all declared keys were added below it."""
    for field_name, key in declared.items():
        *names, leaf = steps_of(name_of(field_name, key))
        above = section
        for name in names:
            above = _section(above, name, SectionKeys())
        if isinstance(key, SectionKeys):
            _grow(_section(above, leaf, key), key.below)
        else:
            path = join(above.path, leaf)
            assert leaf not in above.below, f"{path} is declared twice"
            above.below[leaf] = replace(key, path=path)
            if key.kind.is_secret:
                text = f"A file with `{leaf}`, read at each use."
                file = Key(file_of(path), file_with(key.kind), text, is_live=key.is_live)
                above.below[file_of(leaf)] = file
    return section


def _section(above: SectionKeys, name: str, declared: SectionKeys) -> SectionKeys:
    """The section of that name. It is made if there is none yet, since several fields may share a section."""
    path = join(above.path, name) + ("[]" if declared.is_list else "")
    section = above.below.setdefault(name, replace(declared, path=path, below={}))
    assert isinstance(section, SectionKeys), f"{path} is a key"
    assert section.meaning == declared.meaning or not declared.meaning, f"{path} is declared twice"
    return section


def _all_below(section: SectionKeys) -> Iterator[Key | SectionKeys]:
    for key in section.below.values():
        yield key
        if isinstance(key, SectionKeys):
            yield from _all_below(key)


TREE: Final = _grow(SectionKeys(), keys_of(Config))
KEYS: Final = tuple(key for key in _all_below(TREE) if isinstance(key, Key))
SECTIONS: Final = tuple(section for section in _all_below(TREE) if isinstance(section, SectionKeys))
OPTIONAL: Final = tuple(section for section in SECTIONS if section.is_optional)
"""Sections that may be left out, and lists that may be empty."""


def paths_of(names: Container[str], among: Iterable[Key | SectionKeys] = KEYS) -> list[str]:
    """The paths of all keys whose last name is one of these."""
    return [key.path for key in among if steps_of(key.path)[-1].removesuffix("[]") in names]
