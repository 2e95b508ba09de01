"""The declared keys as Markdown, for docs/reference/configuration.md: a part for each section of `EXAMPLES`.

Each key is a heading, so that it has an anchor and the site's search finds it by its name. The key of a
secret's file stands with the secret. A key that a part has from an earlier one, such as a rule's from
`policy.defaults`, is only named again.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from tsproxy.config.keys import Key, SectionKeys, file_of
from tsproxy.config.kinds import SECRET, file_with
from tsproxy.config.tree import KEYS, OPTIONAL

EXAMPLES: Final[Mapping[str, str]] = {
    "upstream": "",
    "upstream.tls": "",
    "upstream.admin": "",
    "listeners[]": "",
    "listeners[].tls": "",
    "listeners[].proxy_protocol": "",
    "policy": "",
    "policy.defaults": "",
    "policy.candidate": "",
    "policy.rules[]": "",
    "policy.waivers[]": "",
    "decisions": "decisions: { retention: { age: 30d, size: 50GiB }, privacy: { addresses: hash } }",
    "clock": "",
    "dead_letters": "",
    "limits": "limits: { produce_frame: 10MiB, connections_per_address: 200, drain_timeout: 1m }",
    "admin": "",
    "admin.tls": "",
    "": "workers: 2\nlog: { level: warning }",
}
"""Each part of the reference with its example, a piece of a file, or with an empty one if the file at the top
of the page or the guide shows it. The part without a name has all other keys."""


def reference() -> str:
    return "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    printed: dict[tuple[object, ...], str] = {}
    for part in EXAMPLES:
        word = file_with(SECRET).word
        keys = [key for key in KEYS if part_of(key.path) == part and key.kind.word != word]
        own = [key for key in keys if _facts(part, key) not in printed]
        again = [
            (printed[facts], _within(part, key.path))
            for key in keys
            if (facts := _facts(part, key)) in printed
        ]
        printed.update({_facts(part, key): part for key in own})
        yield "\n\n".join(
            [
                f"### {f'`{part}`' if part else 'The other keys'}",
                *([f"```\n{EXAMPLES[part]}\n```"] if EXAMPLES[part] else []),
                *_about_sections(part),
                *_named_again(again),
                *map(_entry, own),
            ]
        )


def part_of(path: str) -> str:
    """The part of a key: the longest that its path begins with."""
    return max(
        (part for part in EXAMPLES if not part or path.startswith((f"{part}.",)) or path == part), key=len
    )


def _facts(part: str, key: Key) -> tuple[object, ...]:
    return _within(part, key.path), key.kind.word, key.is_list, key.default, key.is_live, key.meaning


def _within(part: str, path: str) -> str:
    return path.removeprefix(part).lstrip(".")


def _about_sections(part: str) -> Iterator[str]:
    for each in OPTIONAL:
        if each.path == part or (part_of(each.path) == part and each.path not in EXAMPLES):
            yield f"{'; '.join([f'`{each.path}` may be left out', *_change(each)])}. {each.meaning}"


def _named_again(again: Sequence[tuple[str, str]]) -> Iterator[str]:
    for part, names in groupby(again, key=lambda each: each[0]):
        yield f"As in [`{part}`](#{_anchor(part)}): {', '.join(f'`{name}`' for _, name in names)}."


def _anchor(path: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w-]", "", path)


def _entry(key: Key) -> str:
    facts = [_value(key), *_default(key), *_change(key)]
    return f"#### `{key.path}`\n\n{'; '.join(facts)}. {key.meaning}"


def _value(key: Key) -> str:
    if key.kind.is_secret:
        return f"{key.kind.word}, or `{file_of(key.path.rpartition('.')[2])}`"
    return f"list of {key.kind.word}" if key.is_list else key.kind.word


def _default(key: Key) -> list[str]:
    if key.is_required:
        return ["must be given"]
    return [] if key.default is None else [f"default `{key.default}`"]


def _change(row: Key | SectionKeys) -> list[str]:
    """A word if a new value waits for the next start."""
    return [] if row.is_live else ["restart"]
