"""The fields of the decision log as Markdown, for docs/reference/decision-log.md."""

from tsproxy.decisions.fields import FIELDS, EventName, Field


def reference() -> str:
    """One row for each field. In the columns of events, ● marks a field that is always present and ○ one that
    may be present."""
    head = ["field", "type", *(event.value for event in EventName), "since", "meaning"]
    rows = [head, ["---"] * len(head), *map(_row, FIELDS)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(field: Field) -> list[str]:
    marks = ["●" if e in field.always else "○" if e in field.maybe else "" for e in EventName]
    choices = f" ({', '.join(f'`{choice}`' for choice in field.choices)})" if field.choices else ""
    return [f"`{field.name}`", field.type.value, *marks, str(field.since), field.meaning + choices]
