"""What report.json holds: version 1, small, and all that the renderers know.

Numbers are exact ints, times `…_ts` are UTC instants, drifts and limits are in ms. `null` means: does not
apply (a drift where no record carries a time, a limit that is unlimited). Within a version keys are only
added. Counts named `records_…` count what was judged once; `…_retried` is what producers sent again by
themselves after a retriable error, and is not part of `records_judged`:

    records_judged = records_accepted + records_repaired + records_rejected
                   + records_broker_rejected + records_unconfirmed
"""

from typing import Final, TypedDict

SHAPE_VERSION: Final = 1


class Counts(TypedDict):
    """How records ended: of everything, or of one topic."""

    records_judged: int
    records_accepted: int
    records_repaired: int
    records_rejected: int
    records_broker_rejected: int
    records_unconfirmed: int
    records_rejected_retried: int
    records_broker_rejected_retried: int
    records_unconfirmed_retried: int
    bad_records: int
    collateral_records: int
    batches_judged: int
    batches_rejected: int


class Totals(Counts):
    """Counts of the whole period, and who is concerned. Unit mistakes are records at fault."""

    producers: int
    producers_affected: int
    producers_with_unit_mistakes: int
    unit_mistake_records: int


class Topic(Counts):
    """One topic; the drift range is that of all its records that carry a time."""

    topic: str
    drift_min_ms: int | None
    drift_max_ms: int | None


class Why(TypedDict):
    """One reason for which batches did not simply pass, and its counts."""

    verdict: str
    reason: str | None
    unit_guess: str | None
    error_code: int
    is_final: bool
    cause: str
    fix: str
    batches: int
    records: int
    bad_records: int
    collateral_records: int


class ReasonRow(Why):
    """A reason, over all producers."""

    producers: int


class ClientReason(Why):
    """A reason of one producer, with the drift of the records at fault."""

    drift_min_ms: int | None
    drift_max_ms: int | None


class Example(TypedDict):
    """One rejected batch: where its bad records stood and what time they carried."""

    ts: str
    topic: str
    partition: int
    client_address: str | None
    error_message: str | None
    records: int
    bad_records: int
    bad_index: list[int]
    bad_ts: list[int]
    read_as_ts: str | None
    """The first bad timestamp, read in the unit that was guessed."""


class TopicShare(TypedDict):
    topic: str
    rejected_records: int


class Producer(TypedDict):
    """One client with rejections. `hours` are its rejected records, aligned with Report.hours."""

    client_id: str | None
    principal: str | None
    records: int
    rejected_records: int
    rejected_batches: int
    bad_records: int
    collateral_records: int
    first_ts: str
    last_ts: str
    topics: list[TopicShare]
    topics_count: int
    addresses: list[str]
    client_software: list[str]
    reasons: list[ClientReason]
    hours: list[int]
    examples: list[Example]


class Omitted(TypedDict):
    """What a table left out."""

    count: int
    records: int
    rejected_records: int


class DriftBucket(TypedDict):
    """One bucket of `drift-v1`: magnitudes above `above_ms` up to `up_to_ms`; negative is behind."""

    bucket: int
    above_ms: int
    up_to_ms: int
    taken_records: int
    taken_batches: int
    rejected_records: int
    rejected_batches: int


class TopicHours(TypedDict):
    """Records judged and rejected, aligned with Report.hours."""

    topic: str
    records: list[int]
    rejected_records: list[int]


class Limits(TypedDict):
    """Limits a topic was seen to have, from `first_ts` on."""

    topic: str
    timestamp_type: str
    before_max_ms: int | None
    after_max_ms: int | None
    first_ts: str


class LineGap(TypedDict):
    """Lines lost in a row: their numbers, and the times of the lines on either side where known."""

    proxy: str
    boot: str
    seq_first: int
    seq_last: int
    after_ts: str | None
    before_ts: str | None


class SilentBoot(TypedDict):
    """A process that ended without a goodbye, and the last that was heard of it."""

    proxy: str
    boot: str
    last_ts: str


class UnheardSpan(TypedDict):
    """When no process of a proxy was heard: down, or its log is missing whole."""

    proxy: str
    from_ts: str
    to_ts: str


class AtLimit(TypedDict):
    """What a limit that is an edge of the histogram would reject, exactly: batches, and all their records."""

    limit_ms: int
    batches: int
    records: int


class WhatIf(TypedDict):
    """What other limits would reject, of all batches with timestamps, whatever their fate was."""

    batches: int
    records: int
    ahead: list[AtLimit]
    """By message.timestamp.after.max.ms, ascending."""
    behind: list[AtLimit]
    """By message.timestamp.before.max.ms, ascending."""


class WouldReject(TypedDict):
    """What a rule in audit or under a waiver, or the candidate limits (rule `candidate`), would reject."""

    rule: str | None
    waiver: str | None
    topic: str
    client_id: str | None
    principal: str | None
    reason: str | None
    cause: str
    fix: str
    batches: int
    records: int
    bad_records: int


class OutOfOrderTopic(TypedDict):
    """Accepted records older than one before them in their partition, where a rule follows stream time."""

    topic: str
    records: int
    out_of_order_records: int
    out_of_order_max_ms: int


class RuleAtWork(TypedDict):
    """What a rule had a word on: what it rejected, and what it let pass (in audit, or for a waiver)."""

    rule: str | None
    mode: str | None
    waiver: str | None
    batches: int
    records: int
    bad_records: int
    rejected_records: int


class InForce(TypedDict):
    """What a process said of its configuration when it started or took a new one."""

    ts: str
    proxy: str
    kind: str
    """`start` or `reload`."""
    mode: str | None
    limits_from: str | None
    rules: list[str]
    waivers: list[str]


class DayOfTrend(TypedDict):
    day: str
    records: int
    rejected_records: int
    producers_affected: int


class Change(TypedDict):
    """A client that is news; `kind` is new, doubled or recovered (`spark_reports.rollup`)."""

    kind: str
    client_id: str | None
    principal: str | None
    records: int
    rejected_records: int
    records_before: int
    rejected_before: int


class Trend(TypedDict):
    """The last day of the period against the seven days before it, as far as they are known."""

    days: list[DayOfTrend]
    changes: list[Change]


class LogQuality(TypedDict):
    """What the log says of itself; `sentence` stands at the head of every report."""

    is_complete: bool
    sentence: str
    proxies: int
    boots: int
    lines: int
    lost_lines: int
    intervals: int
    missing_intervals: int
    silent_boots: int
    gaps: list[LineGap]
    """The runs of lost lines, at most 100; `lost_lines` counts all."""
    silent: list[SilentBoot]
    unheard: list[UnheardSpan]
    duplicate_lines: int
    quarantined_lines: dict[str, int]
    """By problem (`spark_reports.read`), over all files read."""
    quarantined_examples: list[str]
    lines_unusable: int
    """Of the lines set aside, those that hold totals of the period, or may: the log is then incomplete."""
    lines_dropped: int
    decisions_suppressed: int
    batches_folded: int
    files: int
    open_files: int


class Report(TypedDict):
    """The whole of report.json."""

    report: str
    version: int
    generated_ts: str
    first_day: str
    last_day: str
    is_over: bool
    """False where the report was made before the period's end."""
    headline: str
    details: list[str]
    log: LogQuality
    totals: Totals
    producers: list[Producer]
    producers_omitted: Omitted
    topics: list[Topic]
    topics_omitted: Omitted
    reasons: list[ReasonRow]
    drift_hist: str
    drift: list[DriftBucket]
    what_if: WhatIf
    would_reject: list[WouldReject]
    """The worst of them, as many as `--top` says."""
    out_of_order: list[OutOfOrderTopic]
    """The topics with most records out of order."""
    rules: list[RuleAtWork]
    """As many as `--top` says."""
    in_force: list[InForce]
    """The last of the period, newest first; a process that runs for days said it on its first."""
    trend: Trend | None
    """Null where no day before is known (`daily --rollup`)."""
    hours: list[str]
    """`2026-11-20T10`, every hour of the period."""
    all_topics: TopicHours
    topic_hours: list[TopicHours]
    limits: list[Limits]
