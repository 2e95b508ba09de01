"""`from_decisions`: applies thresholds to a decision log. Pure except for the files it reads.

The log's counters hold the distance of batches from the clock, for each topic and client (`drift-v1`). A
limit that is an edge of these histograms is counted exactly, any other limit lies between two edges. A batch
that is both too far ahead and too old is in both histograms, so its count lies between the larger of the two
and their sum.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from tsproxy.decisions.drift import HISTOGRAM_NAME, bucket_bounds_ms
from tsproxy.decisions.fields import EventName, LifecycleKind
from tsproxy.model.kafka import TimestampType
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import CANDIDATE, Mode, Policy
from tsproxy.model.verdict import Reason, TopicLimits
from tsproxy.offline.replay.tally import Line, Tally
from tsproxy.offline.set_aside import SetAside
from tsproxy.policy.resolve import resolve

FILES: Final = "decisions-*.jsonl*"

Bars = Sequence[tuple[int, int, int]]
"""(signed bucket, batches, records)."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The least and the most batches and records."""

    batches: tuple[int, int] = (0, 0)
    records: tuple[int, int] = (0, 0)


def over(bars: Bars, limit_ms: int | None) -> Counted:
    """The batches and records further from the clock than `limit_ms`. `bars` are of one side of the clock."""
    if limit_ms is None:
        return Counted()
    least, most = [0, 0], [0, 0]
    for index, batches, records in bars:
        above_ms, up_to_ms = bucket_bounds_ms(index)
        if above_ms >= limit_ms and up_to_ms > limit_ms:
            least = [least[0] + batches, least[1] + records]
        if up_to_ms > limit_ms:
            most = [most[0] + batches, most[1] + records]
    return Counted((least[0], most[0]), (least[1], most[1]))


def outside(ahead: Bars, behind: Bars, limits: TopicLimits | None) -> Counted:
    """The batches and records that these limits reject; none if no limits are known."""
    if limits is None or not limits.is_limited:
        return Counted()
    late = over([bar for bar in behind if bar[0] < 0], limits.before_max_ms)
    early = over([bar for bar in ahead if bar[0] > 0], limits.after_max_ms)
    return Counted(
        (max(late.batches[0], early.batches[0]), late.batches[1] + early.batches[1]),
        (max(late.records[0], early.records[0]), late.records[1] + early.records[1]),
    )


@dataclass(slots=True)
class Decisions:
    """The counts read from a log; `tally` is by topic and client."""

    policy: Policy
    tally: Tally = field(default_factory=Tally)
    files: int = 0
    counters: int = 0
    set_aside: SetAside = field(default_factory=SetAside)
    _limits: dict[str, TopicLimits] = field(default_factory=dict)

    def read(self, files: Iterable[Path]) -> None:
        """Add the counts of these files. Raises OSError."""
        for file in files:
            self.files += 1
            at_byte = 0
            with file.open("rb") as lines:
                for raw in lines:
                    if (line := self.set_aside.usable(raw, file, at_byte)) is not None:
                        self._line(line, file, at_byte)
                    at_byte += len(raw)

    def _line(self, line: Mapping[str, Any], file: Path, at_byte: int) -> None:
        if line["event"] == EventName.COUNTERS and line["is_final"] and line["hist"] == HISTOGRAM_NAME:
            self._counters(line)
        elif line["event"] == EventName.LIFECYCLE and line["kind"] == LifecycleKind.LIMITS:
            try:
                self._limits[line["topic"]] = _limits_of(line)
            except (KeyError, ValueError):  # fields that only this kind of lifecycle line has
                self.set_aside.add("has no limits that can be read", file, at_byte)

    def _counters(self, line: Mapping[str, Any]) -> None:
        topic, batches, records = line["topic"], line["batches"], line["records"]
        address = next(iter(line.get("addresses", ())), "")
        client_id, principal = line.get("client_id"), line.get("principal")
        peer = Peer(line["listener"], address, 0, client_id=client_id, principal=principal)
        now_ms = int(datetime.fromisoformat(line["interval_start"]).timestamp() * 1000)
        known = self._limits.get(topic)
        judged_by = resolve(self.policy, peer, topic, known=known, on_kafka_4=None, now_ms=now_ms)
        found = outside(line["ahead"], line["behind"], judged_by.limits)
        by_candidate = outside(line["ahead"], line["behind"], judged_by.candidate)
        reasons = _reasons(line, judged_by.limits)
        self.counters += 1
        entry = self.tally.line(topic, peer.client_id)
        entry.batches += batches
        entry.records += records
        entry.limits_were_known &= judged_by.limits is not None or judged_by.mode is Mode.OFF
        if judged_by.mode is Mode.ENFORCE:
            entry.rejected_batches += found.batches[0]
            entry.rejected_records += found.records[0]
            entry.uncertain_records += found.records[1] - found.records[0]
            _explain(entry, found, judged_by.rule, reasons)
        elif judged_by.mode is Mode.AUDIT:
            _count_only(entry, found, judged_by.rule, reasons)
        if judged_by.mode is not Mode.OFF and by_candidate.batches[0] > found.batches[0]:
            more = by_candidate.batches[0] - found.batches[0], by_candidate.records[0] - found.records[0]
            entry.by_candidate += more[0]
            beyond = Counted((more[0], more[0]), (more[1], more[1]))
            _count_only(entry, beyond, CANDIDATE, _reasons(line, judged_by.candidate))


def _count_only(entry: Line, found: Counted, rule: str, reasons: Iterable[Reason]) -> None:
    entry.counted_batches += found.batches[0]
    entry.counted_records += found.records[0]
    _explain(entry, found, rule, reasons)


def _explain(entry: Line, found: Counted, rule: str, reasons: Iterable[Reason]) -> None:
    if found.batches[1]:
        entry.rules[rule] += found.records[0]
        for reason in reasons:
            entry.reasons[reason] += found.records[0]


def _reasons(line: Mapping[str, Any], limits: TopicLimits | None) -> Iterator[Reason]:
    if limits is None:
        return
    if over([bar for bar in line["ahead"] if bar[0] > 0], limits.after_max_ms).batches[1]:
        yield Reason.TOO_FAR_AHEAD
    if over([bar for bar in line["behind"] if bar[0] < 0], limits.before_max_ms).batches[1]:
        yield Reason.TOO_OLD


def _limits_of(line: Mapping[str, Any]) -> TopicLimits:
    return TopicLimits(
        timestamp_type=TimestampType.parse(line["timestamp_type"]),
        before_max_ms=line.get("before_max_ms"),
        after_max_ms=line.get("after_max_ms"),
        max_message_bytes=line["max_message_bytes"],
    )
