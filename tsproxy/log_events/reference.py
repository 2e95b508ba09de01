"""The catalogue as Markdown, for docs/guide/troubleshooting.md."""

from tsproxy.log_events.event import LogEvent
from tsproxy.log_events.sections import SECTIONS, Section


def reference() -> str:
    """The tables of `docs/guide/troubleshooting.md`."""
    return "\n\n".join(map(_section, SECTIONS))


def _section(section: Section) -> str:
    head = [f"## {section.title}", "", *([section.introduction, ""] if section.introduction else [])]
    head += ["| event | level | fields | what happened | what to do |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *map(_row, section.rows)])


def _row(row: LogEvent) -> str:
    return f"| `{row.name}` | {row.level} | {', '.join(row.fields)} | {row.meaning} | {row.action} |"
