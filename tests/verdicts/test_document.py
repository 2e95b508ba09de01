"""docs/verdicts.md prints the table of intended differences as it is."""

from pathlib import Path

from tests.differential.intended import INTENDED

DOCUMENT = Path(__file__).parents[2] / "docs" / "verdicts.md"


def table() -> str:
    """The table as Markdown; what to put into the document."""
    rows = [f"| {d.name} | {d.broker} | {d.proxy} | {d.reason} |" for d in INTENDED]
    return "\n".join(["| what | broker | tsproxy | why |", "| --- | --- | --- | --- |", *rows])


def test_the_document_prints_the_table_of_intended_differences():
    assert table() in DOCUMENT.read_text(encoding="utf-8")
