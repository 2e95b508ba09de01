"""`make generated` writes the parts of pages, and the files, that are made from tables in the code.

A part stands between `<!-- made by make generated: NAME -->` and `<!-- end of NAME -->`. `PARTS` says how
each is made, `FILES` the same for whole files. Figures that must be measured are written by other commands,
such as `make bench`.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from rigs import matrix
from rigs.simulated import violations
from tests.documents import commands, fields, keys, report_schema, rollup_schema, values_schema
from tests.test_states import drawing
from tsproxy.config import schema
from tsproxy.decisions.drift import EDGES
from tsproxy.decisions.fields import FIELDS
from tsproxy.decisions.schema import json_schema as decisions_schema

ROOT: Final = Path(__file__).parents[2]

PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "states of a session": lambda: drawing("states of a session"),
    "states of a client": lambda: drawing("states of a client"),
    "states of a broker": lambda: drawing("states of a broker"),
    "commands": commands.reference,
    "keys": keys.reference,
    "fields": fields.reference,
    "invariants": violations.as_table,
    "versions": matrix.as_table,
}


def grown(name: str, lines: Iterable[str]) -> Callable[[], str]:
    """Makes a file of `tests/decisions/golden` that only ever grows: the lines that it has, and the new ones.
    A line that the code lacks stays, and its test fails: readers of the decision log would miss it."""

    def text() -> str:
        there = (ROOT / name).read_text(encoding="utf-8").splitlines()
        return "".join(f"{line}\n" for line in dict.fromkeys([*there, *lines]))

    return text


_FIELDS: Final = "tests/decisions/golden/v1.fields.txt"
_WORDS: Final = "tests/decisions/golden/v1.words.txt"

FILES: Final[Mapping[str, Callable[[], str]]] = {
    _FIELDS: grown(_FIELDS, [f"{field.name} {field.type}" for field in FIELDS if field.since == 1]),
    _WORDS: grown(_WORDS, [f"{field.name} {word}" for field in FIELDS for word in field.choices]),
    "deploy/helm/tsproxy/values.schema.json": values_schema.text,
    "docs/reference/configuration.schema.json": schema.as_text,
    "docs/reference/decision-log.schema.json": lambda: json.dumps(decisions_schema(), indent=1) + "\n",
    "docs/reference/drift-v1.json": lambda: f"{list(EDGES)}\n",
    "docs/reference/report.schema.json": report_schema.text,
    "docs/reference/rollup.schema.json": rollup_schema.text,
    "docs/reference/rollup.sources.yml": rollup_schema.sources,
}

_PART = re.compile(
    r"(?P<begin><!-- made by make generated: (?P<name>[a-z ]+) -->\n).*?(?P<end><!-- end of (?P=name) -->\n)",
    re.DOTALL,
)


def pages() -> dict[Path, list[str]]:
    """The pages with generated parts, and the names of these parts."""
    found = {
        page: [each["name"] for each in _PART.finditer(page.read_text(encoding="utf-8"))]
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    }
    return {page: names for page, names in found.items() if names}


def with_parts(page: str) -> str:
    """The text of a page with its generated parts as they are now."""

    def part(found: re.Match[str]) -> str:
        made = PARTS[found["name"]]().strip("\n")
        return f"{found['begin']}\n{made}\n\n{found['end']}"

    return _PART.sub(part, page)


def generated() -> dict[Path, str]:
    """Each page and file with generated text, as it is now."""
    made = {page: with_parts(page.read_text(encoding="utf-8")) for page in pages()}
    return made | {ROOT / name: make() for name, make in FILES.items()}


def main() -> None:
    for file, text in generated().items():
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            print(f"{file.relative_to(ROOT)} is written again")


if __name__ == "__main__":
    main()
