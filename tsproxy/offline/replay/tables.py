"""The output of a replay, for the terminal and for programs. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tsproxy.model.words import many
from tsproxy.offline.replay.tally import Key, Line, Tally
from tsproxy.offline.words import more, table

_HEADS: Final = ("topic", "client", "batches", "records", "rejected", "at fault", "counted", "why")
_NUMBERS: Final = frozenset({2, 3, 4, 5, 6})


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay: `source` as text, by name the counts of what was read, and a sentence for each
    fact that the source does not contain."""

    source: str
    facts: dict[str, int]
    unknown: Sequence[str]
    tally: Tally
    names_culprits: bool = True
    """Whether the source shows which records of a rejected batch are at fault."""

    def bad_records(self, rejected: int, bad: int) -> int | None:
        """The number of records at fault; None if records were rejected and the source does not show them."""
        return bad if self.names_culprits or not rejected else None


def as_json(replayed: Replayed) -> dict[str, Any]:
    return {
        "source": replayed.source,
        **replayed.facts,
        "unknown": list(replayed.unknown),
        "lines": [_entry(replayed, key, line) for key, line in replayed.tally.worst_first()],
    }


def as_text(replayed: Replayed, rows: int) -> str:
    """At most `rows` topics and clients, the worst first."""
    return "\n".join(_lines(replayed, rows))


def _entry(replayed: Replayed, key: Key, line: Line) -> dict[str, Any]:
    return {
        "topic": key[0],
        "client_id": key[1],
        "batches": line.batches,
        "records": line.records,
        "rejected_batches": line.rejected_batches,
        "rejected_records": line.rejected_records,
        "bad_records": replayed.bad_records(line.rejected_records, line.bad_records),
        "uncertain_records": line.uncertain_records,
        "counted_batches": line.counted_batches,
        "counted_records": line.counted_records,
        "counted_bad_records": line.counted_bad_records,
        "by_candidate": line.by_candidate,
        "reasons": dict(line.reasons),
        "units": dict(line.units),
        "rules": dict(line.rules),
        "example": line.example,
        "limits_were_known": line.limits_were_known,
    }


def _lines(replayed: Replayed, rows: int) -> Iterator[str]:
    yield f"{replayed.source}: " + ", ".join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in replayed.facts.items()
    )
    yield ""
    found = replayed.tally.worst_first()
    if found:
        yield from table([_HEADS, *(_row(replayed, key, line) for key, line in found[:rows])], _NUMBERS)
        if len(found) > rows:
            yield more(len(found) - rows)
    else:
        yield "  nothing to judge"
    lines = [line for _, line in found]
    rejected, judged = sum(line.rejected_records for line in lines), sum(line.records for line in lines)
    counted = sum(line.counted_records for line in lines)
    at_fault = replayed.bad_records(rejected, sum(line.bad_records for line in lines))
    uncertain = sum(line.uncertain_records for line in lines)
    yield ""
    yield (
        f"{rejected:,} of {many(judged, 'record')} would be rejected"
        + ("; " if at_fault is None else f", {at_fault:,} of them at fault; ")
        + f"{counted:,} more only counted (audit, waivers, candidate)"
    )
    if uncertain:
        yield f"{uncertain:,} more lie so near a limit that the histograms cannot tell"
    yield "What this cannot know:"
    yield from (f"  * {sentence}" for sentence in replayed.unknown)


def _row(replayed: Replayed, key: Key, line: Line) -> tuple[str, ...]:
    topic, client_id = key
    bad = replayed.bad_records(line.rejected_records, line.bad_records)
    causes = [*line.units, *(reason for reason in line.reasons if not line.units)]
    by = ", ".join(line.rules)
    why = ", ".join(str(each).replace("_", " ") for each in causes) + (f" ({by})" if by else "")
    return (
        topic or "other",
        client_id or "",
        f"{line.batches:,}",
        f"{line.records:,}",
        f"{line.rejected_records:,}",
        "?" if bad is None else f"{bad:,}",
        f"{line.counted_records:,}",
        why if line.limits_were_known else (why + " limits not known").strip(),
    )
