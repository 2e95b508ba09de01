"""The fields of the decision log as Markdown, for docs/reference/decision-log.md."""

from tsproxy.decisions.fields import FIELDS, EventName, Field


def reference() -> str:
    """One row for each field. The column `lines` names the events that have it, with `?` if only some of
    their lines do."""
    head = ["field, type", "lines", "meaning"]
    rows = [head, ["---"] * len(head), *map(_row, FIELDS)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(field: Field) -> list[str]:
    choices = f" ({', '.join(f'`{choice}`' for choice in field.choices)})" if field.choices else ""
    since = f" (since version {field.since})" if field.since > 1 else ""
    return [f"`{field.name}` {field.type.value}", _lines(field), f"{field.meaning}{choices}{since}"]


def _lines(field: Field) -> str:
    if set(EventName) in (set(field.always), set(field.maybe)):
        return f"all{'' if field.always else '?'}"
    names = [
        f"{each.value}{'' if each in field.always else '?'}" for each in EventName if each in field.events
    ]
    return ", ".join(names)
