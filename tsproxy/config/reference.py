"""The table of keys as Markdown: `python -m tsproxy.config.reference` prints what the docs carry."""

from tsproxy.config.keys import KEYS, OPTIONAL_SECTIONS, Key


def reference_table() -> str:
    """The tables of `docs/configuration.md`, from the table that configurations are read by."""
    rows = ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    rows += [f"| `{key.path}` | {_value(key)} | {_default(key)} | {key.meaning} |" for key in KEYS]
    rows += ["", "Sections that may be left out as a whole:", "", "| section | meaning |", "| --- | --- |"]
    rows += [f"| `{path}` | {meaning} |" for path, meaning in OPTIONAL_SECTIONS.items()]
    return "\n".join(rows) + "\n"


def _value(key: Key) -> str:
    return f"list of {key.kind.word}" if key.is_list else key.kind.word


def _default(key: Key) -> str:
    if key.is_required:
        return "must be given"
    return f"`{key.default}`" if key.default is not None else "none"


if __name__ == "__main__":
    print(reference_table(), end="")
