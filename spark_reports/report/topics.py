"""A topic in words: its worst producers, and the records that limits around its own would reject."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spark_reports.report import words
from spark_reports.report.shape import CLIENTS_PER_TOPIC, AroundLimit, Topic

SIDE_WORDS: Final[Mapping[str, str]] = {"behind": "Oldest allowed", "ahead": "Newest allowed"}
"""The limit of each side, as it is called in a report."""


@dataclass(frozen=True, slots=True)
class OtherLimit:
    """`30 d 5,000 (12%)`: a limit, and the records that it would reject."""

    text: str
    is_own: bool


def has_page(topic: Topic) -> bool:
    """True if the topic has a page of its own: one with fewer than three rejected producers needs none."""
    return len(topic["worst"]) >= CLIENTS_PER_TOPIC


def worst_producers(topic: Topic) -> str:
    """A sentence with the producers of the topic that were rejected most; empty if there is none."""
    named = [
        f"{words.short(words.client(row['client_id']), 60)} {words.count(row['rejected_records'])}"
        for row in topic["worst"]
    ]
    return f"Rejected most: {', '.join(named)}." if named else ""


def named_side(topic: Topic, side: str) -> str:
    """The beginning of a sentence about `other_limits`. It says if the topic has no such limit."""
    has_own = any(row["is_own"] for row in topic["what_if"] if row["side"] == side)
    now = "" if has_own else " (now unlimited)"
    return f"{SIDE_WORDS[side]}{now}, and the records that each limit would reject"


def other_limits(topic: Topic, side: str) -> list[OtherLimit]:
    """The topic's own limit on one side and some around it; empty if nothing is known, or nothing differs."""
    return [
        OtherLimit(_in_words(row, topic["records_judged"]), row["is_own"])
        for row in topic["what_if"]
        if row["side"] == side
    ]


def _in_words(row: AroundLimit, checked: int) -> str:
    name = words.duration(row["limit_ms"]) + (" (its own)" if row["is_own"] else "")
    return f"{name} {words.between(row['records_at_least'], row['records_at_most'], checked)}"
