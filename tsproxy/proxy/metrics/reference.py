"""The catalogue as Markdown, for docs/reference/metrics.md."""

from tsproxy.proxy.metrics.catalogue.sections import SECTIONS
from tsproxy.proxy.metrics.described import FROM_START, Described, Joined, Kind


def reference() -> str:
    """The tables of `docs/reference/metrics.md`."""
    return "\n\n".join(_section(title, rows) for title, rows in SECTIONS.items())


def _section(title: str, rows: tuple[Described, ...]) -> str:
    lines = [f"## {title}", "", "| metric | type, unit | meaning | series | what to do with it |"]
    lines += ["| --- | --- | --- | --- | --- |", *map(_row, rows)]
    return "\n".join(lines)


def _row(row: Described) -> str:
    labels = f" {{{', '.join(row.labels)}}}" if row.labels else ""
    kind = f"{row.kind}, {row.unit}"
    if row.kind is Kind.GAUGE and row.joined is not Joined.SUM:
        kind += f"; with workers: {row.joined.words}"
    series = "start" if row.series == FROM_START else row.series
    meaning = row.meaning.removesuffix(".")
    return f"| `{row.name}`{labels} | {kind} | {meaning} | {series} | {row.action} |"
