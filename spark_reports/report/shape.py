"""The shape of report.json, version 2. It is small, and renderers read nothing else.

Numbers are exact ints, times `…_ts` are UTC instants, drifts and limits are in ms. `null` means: does not
apply (a drift without timestamps, a limit that is unlimited). Within a version keys are only added. Counts
named `records_…` count each record once. `…_retried` counts records that producers sent again by themselves
after a retriable error; they are not part of `records_judged`:

    records_judged = records_accepted + records_repaired + records_rejected
                   + records_broker_rejected + records_unconfirmed
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypedDict, TypeVar, cast, get_args, get_origin, get_type_hints, is_typeddict

from spark_reports.log.completeness import LogQuality

SHAPE_VERSION: Final = 2

CLIENTS_PER_TOPIC: Final = 3
"""The producers of a topic in `Topic.worst`, at most."""

DAYS_BEFORE: Final = 7
"""The last day of a period is compared with this many days before it."""


_Shape = TypeVar("_Shape")


def of_row(shape: type[_Shape], row: Mapping[str, Any], **others: object) -> _Shape:
    """A shape from the columns of `row` that are its keys, and from `others`. Raises KeyError if one is
    missing."""
    values = {**row, **others}
    return cast(_Shape, {name: values[name] for name in shape.__annotations__})


def to_json(value: Mapping[str, object]) -> str:
    """The text of a file."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def from_json(
    shape: type[_Shape], text: str, added: Mapping[str, object] = MappingProxyType({})
) -> _Shape | None:
    """The value that `to_json` wrote, with the keys of the shape alone; None for any other text. `added`: the
    values of keys that files of earlier releases lack."""
    try:
        return cast(_Shape, _typed(shape, {**added, **json.loads(text)}))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _typed(kind: Any, value: Any) -> Any:
    """The value, if it is of that type. Raises TypeError or KeyError."""
    if is_typeddict(kind):
        return {name: _typed(own, value[name]) for name, own in get_type_hints(kind).items()}
    origin = get_origin(kind)
    if not isinstance(value, origin if origin in (list, dict) else kind):
        raise TypeError
    if origin is dict:
        return {name: _typed(get_args(kind)[1], each) for name, each in value.items()}
    return [_typed(get_args(kind)[0], each) for each in value] if isinstance(value, list) else value


class Counts(TypedDict):
    """How records ended: all of them, or those of one topic."""

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
    records_unread: int
    """Judged records of unread batches: only the broker has read them (`inspect.compressed`)."""
    records_limits_unknown: int
    """Judged records whose topic's own limits were not known."""


class Totals(Counts):
    """Counts of the whole period."""

    producers: int
    """Applications, most of one client, with at least one batch, also those that were only told to send it
    again."""
    producers_affected: int
    """Producers with a batch that was rejected for good."""
    unit_mistake_records: int
    """Bad records of rejected batches with a guess other than `zero` and `never_set`."""
    would_reject_producers: int
    would_reject_records: int
    """Records, whole batches, that were forwarded, and that a rule in audit, a rule under a waiver or the
    candidate limits would reject. They include none of far_behind_records."""
    repaired_producers: int
    far_behind_records: int
    """Records that lie so far behind the clock that a mistake is likely. Nothing rejects them."""


class Client(TypedDict):
    """A client."""

    client_id: str | None
    """The id, or the name of the application; so it is in all lists of producers."""
    principal: str | None


class OwnedClient(Client):
    """A client, or an application of several, and its owner."""

    clients: int
    """The number of its client ids; in Producer, of those with rejections."""
    instance: str | None
    """One of them, to which `team` belongs."""
    team: str | None
    """Its owner; null if it has none, or without `daily --owners`."""


class TopicProducer(Client):
    """A producer of a topic, and its records that were rejected there."""

    rejected_records: int


class AroundLimit(TypedDict):
    """The records of a topic, whole batches, that a limit would reject on one side (`ahead` or `behind`).

    `records_at_least` and `records_at_most` differ only if the limit is no edge of the histogram.
    """

    side: str
    limit_ms: int
    is_own: bool
    """True for the topic's own limit: the last one of the period."""
    records_at_least: int
    records_at_most: int


class Topic(Counts):
    """One topic. Its drift range covers culprits, and all records of batches that have none.

    So good records of a rejected batch may lie outside of it.
    """

    topic: str
    drift_min_ms: int | None
    drift_max_ms: int | None
    worst: list[TopicProducer]
    """Up to three producers, the one with most rejected records first."""
    what_if: list[AroundLimit]
    """Its own limits and some around them. Empty beyond the 50 topics with most rejected records, and for
    topics of the broker's own time (LogAppendTime)."""


class Why(TypedDict):
    """One reason for which batches were not simply accepted, and its counts."""

    verdict: str
    reason: str | None
    unit_guess: str | None
    error_code: int
    is_final: bool
    cause: str
    fix: str
    """For the owner of the producer."""
    platform: str | None
    """The remedy of those who run the platform; null if there is none."""
    batches: int
    records: int
    bad_records: int
    collateral_records: int


class ReasonRow(Why):
    """A reason, over all producers: of rejections, repairs, records sent again, and unconfirmed records."""

    producers: int


class ClientReason(Why):
    """A reason of one producer, with the drift of its bad records."""

    drift_min_ms: int | None
    drift_max_ms: int | None


class Example(TypedDict):
    """One batch that was rejected for good: the positions and timestamps of its bad records."""

    ts: str
    cause: str
    topic: str
    partition: int
    client_address: str | None
    error_message: str | None
    records: int
    bad_records: int
    bad_index: list[int]
    bad_ts: list[int]
    read_as_ts: str | None
    """The first bad timestamp, read in the guessed unit."""


class TopicShare(TypedDict):
    topic: str
    rejected_records: int


class Known(TypedDict):
    """An entry `[[known]]` of the owners' file: somebody works at the mistake."""

    until: str
    """The last day on which it is known."""
    ticket: str | None


class Producer(OwnedClient):
    """A client with rejections, or an application of several. `hours` are its rejected records, aligned with
    Report.hours."""

    instances: list[str | None]
    """The client ids with most rejected records, at most three."""
    records: int
    rejected_records: int
    rejected_batches: int
    bad_records: int
    collateral_records: int
    known: Known | None
    """Null if nobody has said so, or for another cause, or no longer."""
    first_ts: str
    last_ts: str
    since: str | None
    """The day since which it is rejected without a break, as far as the rollup knows (`daily --rollup`)."""
    week: list[int | None]
    """Its rejected records on the last day and the seven days before it, the oldest first. Null for a day
    that the rollup does not know; empty without a rollup."""
    topics: list[TopicShare]
    topics_count: int
    addresses: list[str]
    client_software: list[str]
    reasons: list[ClientReason]
    hours: list[int]
    examples: list[Example]


class Omitted(TypedDict):
    """The rows that a table left out, in sum."""

    count: int
    records: int
    rejected_records: int


class CauseHours(TypedDict):
    """Records rejected for a kind of cause, aligned with Report.hours. A broker's "too old" may be before
    1970."""

    kind: str
    """`units`, `behind`, `ahead` or `others`."""
    cause: str
    """The kind in words."""
    rejected_records: list[int]


class Limits(TypedDict):
    """Limits of a topic as the proxy saw them, from `first_ts` on. The last ones of a topic are in force."""

    topic: str
    timestamp_type: str
    before_max_ms: int | None
    after_max_ms: int | None
    first_ts: str


class AtLimit(TypedDict):
    """The batches, and all their records, that this limit would reject. The numbers are exact."""

    limit_ms: int
    batches: int
    records: int


class WhatIf(TypedDict):
    """The records that other limits would reject, among all batches with timestamps."""

    batches: int
    records: int
    records_left_out: int
    """Records whose histograms are of another version of the log: they are in no other number here."""
    ahead: list[AtLimit]
    """By message.timestamp.after.max.ms, ascending."""
    behind: list[AtLimit]
    """By message.timestamp.before.max.ms, ascending."""


class WouldReject(OwnedClient):
    """Records that a rule in audit or under a waiver, or the candidate limits (`candidate`), would reject."""

    rule: str | None
    waiver: str | None
    topic: str
    reason: str | None
    cause: str
    fix: str
    batches: int
    records: int
    bad_records: int
    is_far_behind: bool
    """True if the candidate limits counted them, and they lie more than 3,650 days behind the clock: likely
    mistakes that no broker rejects."""


class Repaired(OwnedClient):
    """Records of a client that a rule repaired: its owner should correct them at the producer."""

    rule: str | None
    cause: str
    fix: str
    records: int
    """Records of repaired batches."""
    bad_records: int
    """Records whose timestamps were rewritten."""
    topics: int
    first_ts: str


class RefusedClient(Client):
    """A client that uses versions of an API that Kafka 4 does not take (KIP-896)."""

    client_software: str | None
    client_address: str | None
    """One of its addresses."""
    api: str
    version_min: int
    version_max: int


class Kafka4(TypedDict):
    """The clients that Kafka 4 refuses: those of `refused_by_kafka_4`, and those with forwarded records that
    the candidate limits would reject, more than an hour ahead of the clock (KIP-1030)."""

    clients: int
    """Each counts once."""
    sentence: str
    """All of this in words; empty if there are none."""


class RuleAtWork(TypedDict):
    """The batches that a rule rejected, or would have rejected (in audit, or under a waiver)."""

    rule: str | None
    mode: str | None
    waiver: str | None
    batches: int
    records: int
    bad_records: int
    rejected_records: int


class DayOfTrend(TypedDict):
    day: str
    records: int
    rejected_records: int
    producers_affected: int


class Change(Client):
    """A client whose rejections changed; `kind` is new, doubled or recovered (`report.trend`)."""

    kind: str
    records: int
    rejected_records: int
    records_before: int
    rejected_before: int


class Trend(TypedDict):
    """The last day of the period compared with the seven days before it, as far as they are known."""

    days: list[DayOfTrend]
    changes: list[Change]
    """The producers that changed most, at most `--top`."""
    changed_producers: int
    """All that changed, also those that `changes` leaves out."""
    new_producers: int
    """All whose change is `new`."""


class HarmedProducer(Client):
    """A producer whose good records were rejected."""

    records: int


class WrongClock(TypedDict):
    """A time in which a proxy's own clock was wrong, and the records that it rejected by that. They are in no
    other number of the report."""

    proxy: str
    from_ts: str
    to_ts: str | None
    """Both by the brokers' clock; null if the log does not say that it ended."""
    offset_ms: int
    """The proxy's clock minus the brokers'."""
    records: int
    producers: list[HarmedProducer]


class PastDay(TypedDict):
    """A day of History. Its counts are null if the rollup does not hold it."""

    day: str
    state: str
    """`complete`, `complete_in_part` or `incomplete` as in LogQuality; `not_over`; or `missing`: the rollup
    does not hold the day."""
    is_compared: bool
    """False if the day is missing, is not over, had no records, or if too much of its log is missing."""
    records: int | None
    rejected_records: int | None


class Usual(TypedDict):
    """The medians of the days before that can be compared; of an even number of days, the lower one of the
    two in the middle. `share_of` has the counts of the day with the median share."""

    days: int
    rejected_records: int
    share_of: PastDay


class History(TypedDict):
    """The last day of the period beside the seven days before it (`daily --rollup`)."""

    days: list[PastDay]
    """Eight days, the oldest first. The last one is the day itself."""
    missing_days: list[str]
    """The days before that the rollup lacks, if it holds an earlier day, at most 31 days before."""
    direction: str
    """`better`, `worse` or `as_usual`, by the share of rejected records; `not_compared`."""
    usual: Usual | None
    """Null if nothing can be compared."""
    sentence: str


class Team(TypedDict):
    """An owner, with the counts of its producers that were rejected; `team` is null for those that nobody
    owns."""

    team: str | None
    channel: str | None
    """A mail address, an address of a chat (`https://…`) or the name of a channel (`#…`)."""
    producers: int
    records: int
    rejected_records: int
    would_reject_producers: int
    would_reject_records: int
    """As in Totals."""
    far_behind_records: int
    repaired_producers: int
    repaired_records: int


class Owned(TypedDict):
    """The owners of the producers that were rejected (`daily --owners`)."""

    teams: list[Team]
    """All teams of the file, the one with most rejected records first, and the row without a team last."""
    producers_left_out: int
    """The number of producers beyond the 10,000 worst. Their owners are not looked up."""
    rejected_records_left_out: int
    help: str | None
    """The end of each text for a team, from the file of owners."""


class Links(TypedDict):
    """The targets of the page's links, relative to the page; null if there is none."""

    json: str | None
    csv: str | None
    index: str | None
    day_before: str | None
    day_after: str | None
    teams: str | None
    """The folder of the teams' folders (`report.teams`)."""
    address: str | None
    """`--address`: where readers find the folder above that of the teams."""


class HeldTopic(TypedDict):
    """A topic that retention by time leaves alone until then, because of a record from the future."""

    topic: str
    until_ms: int
    """The record's timestamp plus `retention.ms` of the topic."""
    is_stored: bool
    """False if the record was rejected, so that it holds nothing."""


class Report(TypedDict):
    """The whole of report.json."""

    report: str
    version: int
    generated_ts: str
    first_day: str
    last_day: str
    is_over: bool
    """False if the report was made before the end of the period."""
    headline: str
    log: LogQuality
    cluster_id: str | None
    """Kafka's id of the cluster; null if the log does not have it."""
    totals: Totals
    producers: list[Producer]
    """The worst, at most `--top` of each team; without owners, at most `--top`."""
    producers_omitted: Omitted
    topics: list[Topic]
    topics_omitted: Omitted
    reasons: list[ReasonRow]
    what_if: WhatIf
    would_reject: list[WouldReject]
    """The worst, at most `--top` of each team. `totals` has the sums of all."""
    repaired: list[Repaired]
    """The worst, at most `--top` of each team."""
    rules: list[RuleAtWork]
    """At most `--top`."""
    trend: Trend | None
    """Null if no day before is known (`daily --rollup`)."""
    history: History | None
    """Null without `daily --rollup`."""
    owners: Owned | None
    """Null without `daily --owners`."""
    links: Links | None
    hours: list[str]
    """`2026-11-20T10`, every hour of the period."""
    wrong_clocks: list[WrongClock]
    refused_by_kafka_4: list[RefusedClient]
    """At most 10,000."""
    kafka_4: Kafka4
    cause_hours: list[CauseHours]
    """The kinds of causes of rejected records, always in the same order."""
    held_topics: list[HeldTopic]
    """Empty without `--scan`."""
    limits: list[Limits]
