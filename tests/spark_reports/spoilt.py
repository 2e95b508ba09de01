"""Lines of each kind with one spoilt field: every field that reports read, and the values of its type.

Each line is the only one of its proxy, so that a test can say which one it is about.
"""

import json
from pathlib import Path

from spark_reports.log.schema import COLUMNS
from tsproxy.decisions.fields import FIELDS, FieldType

_GOLDEN = Path(__file__).parents[1] / "decisions" / "golden" / "v1.jsonl"
_MOST, _LEAST = 2**63 - 1, -(2**63)
_TEXTS = ["", "\0", "\ud800", "other", "\u202e=1+1;<script>", "x" * 5_000]

KINDS = (
    *("lifecycle-start", "lifecycle-limits", "heartbeat"),
    *("decision-rejected", "counters-accepted", "counters-rejected"),
)
VALUES = {
    FieldType.TEXT: _TEXTS,
    FieldType.INSTANT: ["", "2026-11-20", "0000-01-01T00:00:00.000Z", "2026-02-30T10:00:00.000Z", "\ud800"],
    FieldType.INT: [-1, 0, _MOST, _LEAST, 2**63, 1.5, "ten"],
    FieldType.BOOL: ["yes"],
    FieldType.INTS: [[], [None], [_MOST, _LEAST], [None] * 30],
    FieldType.TEXTS: [[], [None], _TEXTS],
    FieldType.OBJECT: [{}, {"\ud800": None, "a": {"b": [1]}}, [], "text"],
    FieldType.HISTOGRAM: [
        *([], [[]], [None], [[None, 1, 1]], [[1, None, 1]], [[1, 1, None]], [[1]], [[1, 1]], [[1, 1, 1, 1]]),
        *([[_MOST, 1, 1]], [[_LEAST, 1, 1]], [[174, 1, 1]], [[-174, 1, 1]], [[1, -1, 1]], [[1, 1, -1]]),
        *([[5, 1, _MOST]], [[5, _MOST, 1]], [[5, 1, 10**15]] * 2, [[5, 10**6, 1]]),
        *([[5, 1, 1], [6, 1, -1]], [[1, 1, 1], [2, 1, _MOST], [3, 1, _MOST]]),
    ],
}


def spoilt():
    """(name, line) for each kind of line, field and value. The field is missing if its value is None."""
    found = []
    for kind, sound in _kinds().items():
        for field in FIELDS:
            is_own = sound["event"] in field.events and field.name not in ("proxy", "boot", "seq")
            if field.name in COLUMNS and is_own:
                for value in [None, *VALUES[field.type]]:
                    name = f"{kind} {field.name} {json.dumps(value)[:60]}"
                    found.append((name, sound | {field.name: value}))
    return [
        (
            name,
            {key: value for key, value in line.items() if value is not None}
            | {"proxy": f"p{number}", "seq": number},
        )
        for number, (name, line) in enumerate(found)
    ]


def _kinds():
    """A line of each kind and verdict, as a proxy wrote it."""
    found = {}
    for text in _GOLDEN.read_text().splitlines():
        line = json.loads(text)
        kind = "-".join(line[name] for name in ("event", "kind", "verdict") if name in line)
        found.setdefault(kind, line)
    return {kind: found[kind] for kind in KINDS}
