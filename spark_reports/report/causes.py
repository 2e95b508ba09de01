"""Producers in groups: one for each cause of their rejected records, so that its advice is given once.

A producer with several causes is in several groups, each time with the records of that cause.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from spark_reports.report import words
from spark_reports.report.shape import ClientReason, Producer

_RANGES_SHOWN: Final = 2


@dataclass(frozen=True, slots=True)
class Sender:
    """A producer in the group of one of its causes."""

    producer: Producer
    reasons: Sequence[ClientReason]
    """Its reasons with that cause, the one with most records first."""

    @property
    def records(self) -> int:
        """Its records that were rejected for the cause."""
        return sum(reason["records"] for reason in self.reasons)

    @property
    def drift(self) -> str:
        """The distance of its rejected timestamps from the clock, in words."""
        now_ms = words.epoch_ms(self.producer["last_ts"])
        ranges = dict.fromkeys(words.rejected_range(reason, now_ms) for reason in self.reasons)
        return "; ".join(list(ranges)[:_RANGES_SHOWN])

    @property
    def is_main(self) -> bool:
        """True in the first of its groups: that of the reason with most records."""
        return self.producer["reasons"][0] in self.reasons


@dataclass(frozen=True, slots=True)
class Group:
    """The producers with one cause, the one with most records first."""

    cause: str
    fix: str
    senders: Sequence[Sender]

    @property
    def records(self) -> int:
        return sum(sender.records for sender in self.senders)

    def in_words(self, rejected: int) -> str:
        """`900 records, 2.7 % of all that were rejected, from 3 producers`; `rejected`: all of them."""
        share = words.share(self.records, rejected)
        return (
            f"{words.many(self.records, 'record')}, {share} of all that were rejected, from "
            f"{words.many(len(self.senders), 'producer')}"
        )

    @property
    def answers(self) -> list[tuple[str, str | None, int]]:
        """The different (verdict, reason, error code) of its rejections."""
        reasons = (reason for sender in self.senders for reason in sender.reasons)
        return list(dict.fromkeys((r["verdict"], r["reason"], r["error_code"]) for r in reasons))


def by_cause(producers: Iterable[Producer]) -> list[Group]:
    """The groups of these producers, the one with most rejected records first."""
    groups: dict[tuple[str, str], list[Sender]] = {}
    for producer in producers:
        own: dict[tuple[str, str], list[ClientReason]] = {}
        for reason in producer["reasons"]:
            own.setdefault((reason["cause"], reason["fix"]), []).append(reason)
        for advice, reasons in own.items():
            groups.setdefault(advice, []).append(Sender(producer, reasons))
    made = [
        Group(cause, fix, sorted(senders, key=lambda sender: -sender.records))
        for (cause, fix), senders in groups.items()
    ]
    return sorted(made, key=lambda group: (-group.records, group.cause))
