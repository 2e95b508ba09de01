"""The declared keys as Markdown, for docs/reference/configuration.md."""

from tsproxy.config.keys import Key, SectionKeys
from tsproxy.config.tree import KEYS, OPTIONAL


def reference_table() -> str:
    """The tables of `docs/reference/configuration.md`, made from the declared keys."""
    rows = ["| key | value | default | change | meaning |", "| --- | --- | --- | --- | --- |"]
    rows += [
        f"| `{key.path}` | {_value(key)} | {_default(key)} | {_change(key)} | {key.meaning} |" for key in KEYS
    ]
    rows += ["", "Sections and lists that may be left out as a whole:", ""]
    rows += ["| section | change | meaning |", "| --- | --- | --- |"]
    rows += [f"| `{each.path}` | {_change(each)} | {each.meaning} |" for each in OPTIONAL]
    return "\n".join(rows) + "\n"


def _value(key: Key) -> str:
    return f"list of {key.kind.word}" if key.is_list else key.kind.word


def _default(key: Key) -> str:
    if key.is_required:
        return "must be given"
    return f"`{key.default}`" if key.default is not None else "none"


def _change(row: Key | SectionKeys) -> str:
    """When a new value takes effect: at a reload, or with the next start."""
    return "live" if row.is_live else "restart"
