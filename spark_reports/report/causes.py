"""The causes of rejected records, and the producers of each, so that its advice is given once.

The numbers of a cause are those of all producers (`reasons` of report.json), however few of them are listed.
Headline and page take them from here. A producer with several causes is in several
groups, each time with the records of that cause.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spark_reports.report import words
from spark_reports.report.groups import NO_UNIT, grouped
from spark_reports.report.shape import ClientReason, Producer, ReasonRow, Report, Why
from tsproxy.model.outcome import VerdictName
from tsproxy.model.verdict import Reason, Trait

WRONG_UNIT: Final = "the wrong time unit"
"""The cause that stands for all wrong units (`cause_of`)."""
KINDS: Final[Mapping[str, str]] = {
    "units": WRONG_UNIT,
    "behind": "too far behind the clock",
    "ahead": "too far ahead of the clock",
    "others": "other causes",
}
"""The kinds of causes in words. Each has a colour of its own, the same on each day."""
_REJECTING: Final = (VerdictName.REJECTED, VerdictName.BROKER_REJECTED)
_RANGES_SHOWN: Final = 2


@dataclass(frozen=True, slots=True)
class Sender:
    """A producer in the group of one of its causes."""

    producer: Producer
    reasons: Sequence[ClientReason]
    """Its reasons with that cause, the one with most records first."""

    @property
    def records(self) -> int:
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
class Cause:
    """A cause with its records and producers: all of them, not only those that the report lists."""

    name: str
    rows: Sequence[ReasonRow]
    """The one with most records first."""
    senders: Sequence[Sender]
    """The listed producers, the one with most records first; known ones (`[[known]]`) are the last."""
    producers: int
    is_exact: bool
    """False if there may be more producers: one may be in several rows."""

    @property
    def fix(self) -> str:
        return self.rows[0]["fix"]

    @property
    def platform(self) -> str | None:
        """The remedies of those who run the platform; None if there is none."""
        remedies = (row["platform"] for row in self.rows)
        texts = dict.fromkeys(text for remedy in remedies if remedy for text in remedy.split("; "))
        return "; ".join(texts) or None

    @property
    def records(self) -> int:
        return sum(row["records"] for row in self.rows)

    @property
    def answers(self) -> list[tuple[str, str | None, int]]:
        """The different (verdict, reason, error code) of its rejections."""
        return list(dict.fromkeys((r["verdict"], r["reason"], r["error_code"]) for r in self.rows))

    @property
    def from_producers(self) -> str:
        """`3 producers`, `at least 3 producers`."""
        return f"{'' if self.is_exact else 'at least '}{words.many(self.producers, 'producer')}"

    def in_words(self, rejected: int) -> str:
        """`900 records, 2.7% of all that were rejected, from 3 producers`; `rejected`: all of them."""
        share = words.share(self.records, rejected)
        return (
            f"{words.many(self.records, 'record')}, {share} of all that were rejected, from "
            f"{self.from_producers}"
        )


def of_report(report: Report) -> list[Cause]:
    """The causes, the one with most rejected records first."""
    return _causes(report["reasons"], report["producers"], lambda why: why["cause"])


def main_cause(reasons: Iterable[ReasonRow]) -> tuple[str, int] | None:
    """The cause of most rejected records, and their number; None if nothing was rejected."""
    merged_causes = _causes(reasons, (), cause_of)
    return (merged_causes[0].name, merged_causes[0].records) if merged_causes else None


def cause_of(why: Why) -> str:
    """The cause of a reason; all wrong units are one."""
    return why["cause"] if why["unit_guess"] in NO_UNIT else WRONG_UNIT


def kind_of(reason: str | None, unit_guess: str | None) -> str:
    """The kind of a cause: one of KINDS."""
    if unit_guess not in NO_UNIT:
        return "units"
    traits = next((known.traits for known in Reason if known == reason), ())
    return "behind" if Trait.BEHIND in traits else "ahead" if Trait.AHEAD in traits else "others"


def _causes(
    reasons: Iterable[ReasonRow], producers: Iterable[Producer], name_of: Callable[[Why], str]
) -> list[Cause]:
    rows = grouped((r for r in reasons if r["verdict"] in _REJECTING and r["is_final"]), name_of)
    senders: dict[str, list[Sender]] = {}
    for producer in producers:
        for name, whys in grouped(producer["reasons"], name_of).items():
            senders.setdefault(name, []).append(Sender(producer, whys))
    causes = [_cause(name, of_cause, senders.get(name, [])) for name, of_cause in rows.items()]
    return sorted(causes, key=lambda cause: (-cause.records, cause.name))


def _cause(name: str, rows: Sequence[ReasonRow], senders: Sequence[Sender]) -> Cause:
    """The cause with the number of its producers. The rows together have at most their sum, and at least the
    largest of them and all that are listed."""
    most = sum(row["producers"] for row in rows)
    least = max(len(senders), *(row["producers"] for row in rows))
    return Cause(
        name,
        sorted(rows, key=lambda row: -row["records"]),
        sorted(senders, key=lambda sender: (sender.producer["known"] is not None, -sender.records)),
        least,
        is_exact=least >= most,
    )
