"""The table of docs/evidence/clients.md that says in which versions each client asks, as they were captured.

    python -m tests.clients.versions

plays the plain stages of both releases with all families, and writes the table. It needs Go and Node, too.
"""

import asyncio
import sys
from pathlib import Path

from tests.clients.families import FAMILIES
from tests.clients.play import perform
from tests.clients.stages import PLAIN, Stage

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "clients.md"
BEGIN, END = (
    "<!-- versions: written by `python -m tests.clients.versions` -->\n",
    "<!-- end of versions -->\n",
)
SHOWN = ("Produce", "Fetch", "Metadata", "ApiVersions")
HEAD = ("client", "broker", "names itself", *SHOWN)
RELEASES = ("4.4.0", "3.9.1")


def row(role, asked):
    """The cells of one client's row."""
    software = ", ".join(f"`{each}`" for each in sorted(asked.software))
    versions = [_versions(asked, "ShareFetch" if _reads_as_share(asked, api) else api) for api in SHOWN]
    return (role.family.name, role.stage.version, software or "–", *versions)


def _reads_as_share(asked, api):
    return api == "Fetch" and "Fetch" not in asked.versions and "ShareFetch" in asked.versions


def _versions(asked, api):
    versions = ", ".join(map(str, sorted(asked.versions.get(api, ())))) or "–"
    return f"{api} {versions}" if api not in SHOWN else versions


def line(cells):
    return f"| {' | '.join(cells)} |\n"


def documented():
    """(client, broker) -> the cells of its row in the document."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [tuple(cell.strip() for cell in each.strip("|").split("|")) for each in table.splitlines() if each]
    assert rows[0] == HEAD
    return {cells[:2]: cells for cells in rows[2:]}


def main():
    """Plays and writes; 1 if a client failed."""
    rows = []
    for release in RELEASES:
        cast = [family for family in FAMILIES if release in family.versions]
        stories = asyncio.run(perform(Stage(release, PLAIN, {PLAIN: cast})))
        for role, story in stories.items():
            if story.failure is not None:
                print(f"{role}: {story.failure}", file=sys.stderr)
                return 1
            rows.append(row(role, story.asked))
    rows.sort(key=lambda cells: [family.name for family in FAMILIES].index(cells[0]))
    table = "".join(map(line, (HEAD, ["---"] * len(HEAD), *rows)))
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    assert begin
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
