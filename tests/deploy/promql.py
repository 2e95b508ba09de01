"""Reads the names out of a PromQL expression, strictly: a word that it does not know counts as a metric."""

import re
from dataclasses import dataclass

WORDS = frozenset({"and", "or", "unless", "bool", "offset", "inf"})
AGGREGATIONS = frozenset({"sum", "max", "min", "avg", "count", "topk", "quantile"})
FUNCTIONS = frozenset(
    {"rate", "increase", "histogram_quantile", "avg_over_time", "max_over_time", "absent", "time", "abs"}
    | {"label_values", "clamp_min", "changes", "vector"}
)
TARGET_LABELS = frozenset({"job", "instance", "namespace"})
"""Labels that Prometheus adds to each series."""

_TEXT = re.compile(r'"[^"]*"')
_LISTS = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_RANGES = re.compile(r"\[[^\]]*\]|\boffset\s+\w+")
_SELECTOR = re.compile(r"([A-Za-z_:][\w:]*)?\s*\{([^}]*)\}")
_MATCHER = re.compile(r"\s*(\w+)\s*(?:=~|!~|!=|=)")
_WORD = re.compile(r"[A-Za-z_:][\w:]*")


@dataclass(frozen=True)
class Names:
    metrics: frozenset[str]
    matched: frozenset[tuple[str, str]]
    """(metric, label) for each label that a selector compares."""
    grouped: frozenset[str]
    """The labels by which results are grouped or joined."""


def names_in(expression: str) -> Names:
    """The names in an expression. Grafana's variables must be between quotes or brackets."""
    rest = _RANGES.sub(" ", _TEXT.sub('""', expression))
    grouped = {word for each in _LISTS.findall(rest) for word in _WORD.findall(each)}
    rest = _LISTS.sub(" ", rest)
    matched = {
        (metric, label) for metric, inside in _SELECTOR.findall(rest) for label in _MATCHER.findall(inside)
    }
    rest = _SELECTOR.sub(r" \1 ", rest)
    words = set(_WORD.findall(rest))
    return Names(frozenset(words - WORDS - AGGREGATIONS - FUNCTIONS), frozenset(matched), frozenset(grouped))


def problems_of(expression: str, table: dict[str, frozenset[str]]) -> list[str]:
    """A text for each name that `table` (metric -> labels) does not have."""
    found = names_in(expression)
    if not found.metrics:
        return [f"names no metric: {expression}"]
    unknown = [f"no metric {each}" for each in sorted(found.metrics - set(table))]
    known = [table[each] for each in found.metrics & set(table)]
    available = frozenset[str]().union(TARGET_LABELS, *known)
    unknown += [
        f"{metric} has no label {label}"
        for metric, label in sorted(found.matched)
        if label not in table.get(metric, frozenset()) | TARGET_LABELS
    ]
    return unknown + [f"no label {each} in {expression}" for each in sorted(found.grouped - available)]
