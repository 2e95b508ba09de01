"""The text of a report: numbers, shares, durations, drifts, likely causes and their fixes.

The sentences of report.json and all renderers use it, so that they agree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from operator import itemgetter
from typing import Any, Final, TypeVar

from spark_reports.log.completeness import NEWER
from spark_reports.report.groups import grouped
from spark_reports.report.shape import (
    DAYS_BEFORE,
    ClientReason,
    Kafka4,
    Limits,
    Producer,
    Report,
    Trend,
    WouldReject,
)
from tsproxy.decisions.old_requests import use_text
from tsproxy.decisions.text import bounded
from tsproxy.decisions.text import instant as instant_of
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.odd_times import ADVICE, never_set, zone_words
from tsproxy.model.policy import CANDIDATE
from tsproxy.model.units import UNITS
from tsproxy.model.verdict import Reason, Trait, UnitGuess
from tsproxy.model.words import noun

_Row = TypeVar("_Row", bound=Mapping[str, object])

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 31_556_952_000
"""The mean Gregorian year in ms."""

_LAST_INSTANT_MS: Final = 253_402_300_799_999
"""The end of the year 9999: nobody means a later time."""

_UNITS: Final = (("y", _YEAR), ("d", _DAY), ("h", _HOUR), ("min", _MINUTE), ("s", _SECOND), ("ms", 1))
_FAR_YEARS: Final = 100
_TOLD: Final = 3
"""The producers that a sentence names."""
_ALIKE: Final = 0.9
"""Two drifts with at least this ratio are shown as one, the larger."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A likely cause, its fix at the producer, and what the platform can do (None: nothing)."""

    cause: str
    fix: str
    platform: str | None = None


UNIT_ADVICE: Final[Mapping[str, Advice]] = {
    **{guess: Advice(f"timestamps are in {unit.name}", unit.advice) for guess, unit in UNITS.items()},
    UnitGuess.TICKS_100NS: Advice(
        "timestamps are in ticks of 100 ns (.NET, FILETIME)", UNITS[UnitGuess.TICKS_100NS].advice
    ),
    UnitGuess.ZERO: Advice("timestamps are 0: a time that was never set", ADVICE[UnitGuess.ZERO]),
    UnitGuess.NEVER_SET: Advice(
        "timestamps are the zero time or the end of a calendar: a time that was never set",
        ADVICE[UnitGuess.NEVER_SET],
    ),
    UnitGuess.OTHER_EPOCH: Advice(
        "timestamps are counted from another epoch, or in days", ADVICE[UnitGuess.OTHER_EPOCH]
    ),
    UnitGuess.DIGITS: Advice("timestamps are dates written as a number", ADVICE[UnitGuess.DIGITS]),
}

REASON_ADVICE: Final[Mapping[str, Advice]] = {reason: Advice(reason.cause, reason.fix) for reason in Reason}

ERROR_ADVICE: Final[Mapping[int, Advice]] = {
    ErrorCode.MESSAGE_TOO_LARGE: Advice(
        "batches are larger than the topic allows",
        "lower the producer's batch size",
        "raise the topic's max.message.bytes",
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: Advice(
        "the client may not write to the topic",
        "ask for the right to write, or correct the topic's name",
        "grant its principal Write on the topic",
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Advice(
        "the topic does not exist", "correct the topic's name", "create the topic"
    ),
    ErrorCode.UNKNOWN_TOPIC_ID: Advice(
        "the topic was deleted, or made again with another id",
        "create it; the producer asks for the new id by itself",
    ),
    ErrorCode.NOT_ENOUGH_REPLICAS: Advice(
        "too few replicas were in sync", "nothing at the producer", "look at the brokers"
    ),
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: Advice(
        "a batch before it was rejected, so its number was out of order",
        "nothing: an idempotent producer sends it again, a transaction is aborted",
    ),
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: Advice(
        "the broker has these records already", "nothing: the producer takes it for a success"
    ),
    ErrorCode.CONCURRENT_TRANSACTIONS: Advice(
        "the producer's transaction before it was still ending", "nothing: the producer sends them again"
    ),
}
"""The advice for errors of the broker that are not about timestamps."""

REASON_WORDS: Final[Mapping[str, str]] = {reason: reason.word for reason in Reason}
_OF_TIME: Final = frozenset({Trait.AHEAD, Trait.BEHIND, Trait.OF_SIZE})
_TRAITS: Final[Mapping[str, tuple[Trait, ...]]] = {reason: reason.traits for reason in Reason}


FOLDED: Final = "(other)"
"""The topic and the client of the row in which the proxy counted many names together."""

_NO_ID: Final = "(no client id)"
_EMPTY_ID: Final = "(empty client id)"

NOT_LISTED: Final = "(not listed)"
"""The row of all clients of which report.csv has no rows."""

PLACEHOLDERS: Final = (FOLDED, _NO_ID, _EMPTY_ID, NOT_LISTED)
"""The words that stand in tables for a name. A client or topic that is really called so, or so behind
backslashes, has one more backslash in front wherever it is shown or kept (`transforms.named`)."""

_CHANGES: Final[Mapping[str, str]] = {
    "new": "new: rejected on none of the seven days before",
    "doubled": "rejected share at least doubled",
    "recovered": "recovered: no rejections any more",
}

PROBLEM_WORDS: Final[Mapping[str, str]] = {
    "not_json": "not one JSON object of the log: torn by a crash, cut by a shipper, packed "
    "(a large file has to be named .gz or .zst), or not written by the proxy",
    "no_identity": "without proxy, boot, seq, event or version: of another program, or taken apart by a "
    "shipper, which has an option that leaves lines alone",
    "bad_type": "with a value of the wrong type",
    "bad_instant": "with an invalid time",
    "bad_key": "that do not say which batches they count",
    "bad_count": "with an invalid count",
    "unknown_version": NEWER,
    "conflict": "delivered several times with different contents: it is unknown which is right",
}
"""The problem of an unusable line (`log.read`)."""

SENT_AGAIN: Final = (
    "After such an error most producers send the same records again by themselves, until a broker accepts or "
    "rejects them, or the producer gives up. They are counted by how that ends. "
    "The proxy cannot see a producer give up: records that it gave up are in no total."
)
"""An explanation of "sent again" (`is_final` is false)."""

OPEN: Final = (
    "After such an error some clients send the same records again by themselves, and others give them up. "
    "The proxy cannot know which, so they are counted as unconfirmed."
)
"""An explanation of records that were answered with an error and are `unconfirmed`."""


TOPIC_REMEDY: Final = (
    "raise the topic's message.timestamp.before.max.ms until it is done: brokers have no waivers"
)
RULE_REMEDY: Final = "grant a waiver (policy.waivers) until it is done"


def advice(
    reason: str | None,
    unit_guess: str | None,
    error_code: int,
    latest_ms: int | None = None,
    *,
    by_topic: bool = False,
    by_rule: bool = True,
) -> Advice:
    """The likely cause and its fix. The code decides if a broker's error is not about timestamps.

    `latest_ms` is the latest bad timestamp, if known: a broker reports a timestamp before 1970 only as too
    old. `by_topic`: the topic's own limit rejected some of the records; `by_rule`: a rule did.
    """
    if unit_guess is not None and unit_guess in UNIT_ADVICE:
        return UNIT_ADVICE[unit_guess]
    if is_unspecific(reason) and error_code in ERROR_ADVICE:
        return ERROR_ADVICE[error_code]
    if reason == Reason.TOO_OLD and latest_ms is not None and latest_ms < 0:
        return REASON_ADVICE[Reason.NEGATIVE]
    if reason == Reason.TOO_OLD:
        remedies = [RULE_REMEDY] * by_rule + [TOPIC_REMEDY] * by_topic
        return replace(REASON_ADVICE[reason], platform="; ".join(remedies))
    if reason is not None and reason in REASON_ADVICE and reason != Reason.OTHER:
        return REASON_ADVICE[reason]
    return Advice(f"the answer was {error_name(error_code)}", "see Kafka's documentation of this error")


def advice_if_counted(
    reason: str | None,
    unit_guess: str | None,
    latest_ms: int | None = None,
    waiver: str | None = None,
    *,
    is_far_behind: bool = False,
) -> Advice:
    """The likely cause and its fix for records that a rule only counted and did not reject, or that `waiver`
    let pass."""
    if waiver and reason == Reason.TOO_OLD and unit_guess not in UNIT_ADVICE:
        return Advice(REASON_ADVICE[reason].cause, "nothing, if the replay is done before the waiver ends")
    if is_far_behind and unit_guess not in UNIT_ADVICE:
        return Advice("timestamps are far behind the clock", "an old archive? If not, check unit and clock")
    return advice(reason, unit_guess, 0, latest_ms)


FAR_BEHIND: Final = (
    "These records lie more than 3,650 days behind the clock. Nothing rejects them, and no version of Kafka "
    "does by itself. They are counted because a wrong unit or clock is likely, and because a topic that "
    "deletes by time deletes them at once."
)


def far_behind(rows: Iterable[_Row]) -> tuple[list[_Row], list[_Row]]:
    """The rows that are far behind, and the others."""
    sides: tuple[list[_Row], list[_Row]] = [], []
    for row in rows:
        sides[0 if row["is_far_behind"] else 1].append(row)
    return sides


def is_unspecific(reason: str | None) -> bool:
    """True if the error code says more than the reason."""
    return reason is None or Trait.UNSPECIFIC in _TRAITS.get(reason, ())


def sentence(text: str) -> str:
    """The text with a capital letter, as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def error_name(code: int) -> str:
    """`INVALID_TIMESTAMP (32)`; a code without a name here is `error 99`."""
    try:
        return f"{ErrorCode(code).name} ({code})"
    except ValueError:
        return f"error {code}"


def count(number: int) -> str:
    """`103,140`."""
    return f"{number:,}"


def many(number: int, one: str, more: str | None = None) -> str:
    """`1 record`, `2 records`."""
    return f"{count(number)} {noun(number, one, more)}"


def share(part: int, whole: int) -> str:
    """A percentage. It never rounds more than nothing to 0%, nor less than all to 100%."""
    if whole <= 0 or part <= 0:
        return "0%"
    if part >= whole:
        return "100%"
    percent = 100 * part / whole
    if percent < 0.1:
        return "<0.1%"
    if percent > 99.9:
        return ">99.9%"
    return f"{percent:.1f}%" if percent < 10 or percent > 99 else f"{percent:.0f}%"


def between(low: int, high: int, whole: int) -> str:
    """`80 to 120 (3.8% to 5.7%)`; `80 (3.8%)` if both are equal."""
    if low == high:
        return f"{count(low)} ({share(low, whole)})"
    return f"{count(low)} to {count(high)} ({share(low, whole)} to {share(high, whole)})"


def duration(magnitude_ms: int) -> str:
    """`3 d 4 h`, `15 s`, `850 ms`, `56.9 y`, `56.9 million y`, for a magnitude in ms.

    It has a second unit only if the first has a single digit.
    """
    years = magnitude_ms / _YEAR
    if years >= 10**6:
        return f"{years / 10**6:.3g} million y"
    if years >= 2:
        return f"{years:,.0f} y" if years >= 100 else f"{years:.1f} y"
    for (name, size), (next_name, next_size) in zip(_UNITS[1:], (*_UNITS[2:], ("", 1)), strict=True):
        if magnitude_ms >= size:
            whole = magnitude_ms // size
            rest = magnitude_ms % size // next_size if next_name and whole < 10 else 0
            return f"{whole} {name}" + (f" {rest} {next_name}" if rest else "")
    return "0 ms"


def drift(drift_ms: int, now_ms: int) -> str:
    """`2 h ahead`, `4 d behind`; far in the future, the year: `year 56,889,033`."""
    year = 1970 + (now_ms + drift_ms) / _YEAR
    if drift_ms > _FAR_YEARS * _YEAR:
        return f"year {int(year):,}"
    if drift_ms == 0:
        return "on time"
    side = "ahead" if drift_ms > 0 else "behind"
    is_near_1970 = 1970 <= year < 1971 and drift_ms < -2 * _YEAR
    return f"{duration(abs(drift_ms))} {side}" + (", in 1970" if is_near_1970 else "")


def drift_range(low_ms: int | None, high_ms: int | None, now_ms: int) -> str:
    """`2 h ahead`, `3 s to 4 d behind`, `1 s behind to 5 s ahead`.

    A dash if no record carries a timestamp.
    """
    if low_ms is None or high_ms is None:
        return "–"
    near_ms, far_ms = sorted((low_ms, high_ms), key=abs)
    far = drift(far_ms, now_ms)
    is_one_sided = low_ms > 0 or high_ms < 0
    if is_one_sided and abs(near_ms) >= _ALIKE * abs(far_ms):
        return far
    if is_one_sided and not far.startswith("year"):
        return f"{duration(abs(near_ms))} to {far}"
    return f"{drift(low_ms, now_ms)} to {drift(high_ms, now_ms)}"


def rejected_range(why: ClientReason, now_ms: int) -> str:
    """The drift of the records that were rejected for a reason: `3 s to 4 d behind`. A dash if the reason has
    nothing to do with the clock.

    A batch that is too old on one side may hold records that are too far ahead, too. Only the side for which
    it was rejected is shown: `up to 4 d behind`.
    """
    low_ms, high_ms = why["drift_min_ms"], why["drift_max_ms"]
    traits = _TRAITS.get(why["reason"] or "", ())
    if not _OF_TIME & {*traits}:
        return "–"
    if low_ms is not None and high_ms is not None and low_ms < 0 < high_ms:
        if Trait.AHEAD in traits:
            return f"up to {drift(high_ms, now_ms)}"
        if Trait.BEHIND in traits:
            return f"up to {drift(low_ms, now_ms)}"
    zone = zone_words(low_ms, high_ms) if low_ms is not None and high_ms is not None else None
    return f"always {zone}" if zone else drift_range(low_ms, high_ms, now_ms)


def timestamp(time_ms: int, read_as_ts: str | None) -> str:
    """The meaning of a raw timestamp, as a text that follows it: `, which reads as 2026-11-20 10:30:34 UTC`
    in the guessed unit, else `, that is …` as milliseconds."""
    if read_as_ts:
        return f", which reads as {instant_words(read_as_ts)}"
    if odd := [moment.words for moment in never_set(time_ms)]:
        return f", that is {' or '.join(odd)}"
    if 0 <= time_ms <= _LAST_INSTANT_MS:
        return f", that is {instant_words(instant_of(time_ms))}"
    if time_ms == -1:
        return ", no timestamp"
    return ", before 1970" if time_ms < 0 else f", in the year {int(1970 + time_ms / _YEAR):,}"


def day_of(time_ms: int) -> str:
    """`2027-11-20`; `the year 56,889` beyond the calendar."""
    is_dated = time_ms <= _LAST_INSTANT_MS
    return instant_of(time_ms)[:10] if is_dated else f"the year {1970 + time_ms // _YEAR:,}"


def bound(limit_ms: int | None) -> str:
    """A topic's limit: `1 h`, or `unlimited`."""
    return "unlimited" if limit_ms is None else duration(limit_ms)


def client(client_id: str | None) -> str:
    """A client's name as tables show it."""
    if client_id is None:
        return _NO_ID
    return client_id or _EMPTY_ID


def application(row: Mapping[str, Any], chars: int = 160) -> str:
    """The name of a row's client, or of its application and the number of its clients:
    `orders-app-* (60 clients)`."""
    number = row.get("clients", 1)
    several = f" ({many(number, 'client')})" if number > 1 else ""
    return f"{short(client(row['client_id']), chars)}{several}"


def producer(row: Mapping[str, Any], chars: int = 160) -> str:
    """The same with its principal, if it has one: one client id may have several."""
    name, principal = application(row, chars), row["principal"]
    return f"{name} ({short(principal, chars)})" if principal else name


def true_id(client_id: str | None) -> str | None:
    """The id that the client sent. None if it sent none, and for the row of names counted together."""
    if client_id is None or client_id == FOLDED:
        return None
    return client_id.removeprefix("\\") if client_id.lstrip("\\") in PLACEHOLDERS else client_id


def team(name: str | None) -> str:
    """A team's name as tables show it."""
    return "no owner" if name is None else short(name, 80)


def rule(name: str | None) -> str:
    """A rule's name as tables show it."""
    return "candidate limits" if name == CANDIDATE else short(name or "–", 60)


def change(trend: Trend, kind: str) -> str:
    """The change of a client against the days before (`shape.Change`), as far as they are known."""
    return _CHANGES.get(kind, kind) + (_days_known(trend) if kind == "new" else "")


def _days_known(trend: Trend) -> str:
    """The number of the seven days before that are known, in brackets; nothing if all are."""
    *before, last = (day["day"] for day in trend["days"])
    first = (date.fromisoformat(last) - timedelta(days=DAYS_BEFORE)).isoformat()
    return _known(sum(day >= first for day in before))


def _known(number: int) -> str:
    return "" if number == DAYS_BEFORE else f" ({number} of {many(DAYS_BEFORE, 'day')} known)"


def short(text: str, limit: int = 160) -> str:
    """The text, printable and cut to `limit` characters. report.json has the whole text.

    It is cut in the middle: the names of an application's instances differ at the end.
    """
    shown = bounded(text)
    return shown if len(shown) <= limit else f"{shown[: limit // 2]}…{shown[limit // 2 + 1 - limit :]}"


def wrong_clock(time: Mapping[str, Any]) -> str:
    """The records that a proxy rejected by its own wrong clock, and who should hear of it."""
    names = [short(client(producer["client_id"]), 60) for producer in time["producers"][:_TOLD]]
    rest = len(time["producers"]) - len(names)
    more = f" and {many(rest, 'more producer')}" if rest else ""
    side, until = "slow" if time["offset_ms"] < 0 else "fast", (time["to_ts"] or "")[11:16]
    return (
        f"{many(time['records'], 'record')} {'was' if time['records'] == 1 else 'were'} rejected while the "
        f"clock of {short(time['proxy'], 60)} was {duration(abs(time['offset_ms']))} {side}, "
        f"{time['from_ts'][11:16]} to {until or 'the end of the log'} (good by the brokers' clock, and "
        f"counted nowhere else): tell {', '.join(names)}{more}."
    )


def left_out(records: int) -> list[str]:
    """A sentence about records that no limit is tried on; nothing if there are none."""
    if not records:
        return []
    are = "is" if records == 1 else "are"
    why = "the histograms of their lines are of another version of tsproxy"
    return [f"{many(records, 'record')} {are} left out: {why}."]


def instant_words(instant: str) -> str:
    """`2026-11-20 10:30:34 UTC`."""
    return f"{instant[:10]} {instant[11:19]} UTC"


def since(report: Report, producer: Producer) -> str:
    """Since when a producer is rejected without a break: `10:30`, `10:30, new`, `16 Nov (5 d)`, or
    `13 Nov (8+ d)` if the day before is not known."""
    first, week = producer["since"], producer["week"]
    if first is None or first >= report["first_day"]:
        known = [rejected for rejected in week[:-1] if rejected is not None]
        new = f", new{_known(len(known))}" if known and not any(known) else ""
        return moment(report, producer["first_ts"]) + new
    day = date.fromisoformat(first)
    before = week[: -((date.fromisoformat(report["last_day"]) - day).days + 1)]
    run = sum(1 for rejected in week[len(before) :] if rejected)
    return f"{day.day} {day:%b} ({run}{'' if before[-1:] == [0] else '+'} d)"


def moment(report: Report, instant: str) -> str:
    """The time of day, `10:30`; with its day, `11-20 10:30`, if the report is of several days."""
    return (
        instant[11:16] if report["first_day"] == report["last_day"] else f"{instant[5:10]} {instant[11:16]}"
    )


def good_and_bad(producer: Producer) -> str:
    """The rejected records of a producer, among all that it sent, and how many of them were bad."""
    rejected, good = producer["rejected_records"], producer["collateral_records"]
    of_all = f"{count(rejected)} of {many(producer['records'], 'record')} rejected"
    causes = {
        why["cause"] for why in producer["reasons"] if _OF_TIME & {*_TRAITS.get(why["reason"] or "", ())}
    }
    many_devices = f" {MANY_DEVICES}" if len(causes) > 1 else ""
    if not good:
        return f"{of_all}.{many_devices}"
    bad = count(producer["bad_records"])
    return f"{of_all}: {bad} bad, {count(good)} good in the same batches.{many_devices}"


MANY_DEVICES: Final = (
    "Several mistakes by one client: a relay for many devices? Dead letters (dead_letters) hold each bad "
    "record with its reason; its key or value names the device."
)


def epoch_ms(instant: str) -> int:
    """The instant in ms since 1970."""
    return int(datetime.fromisoformat(instant).timestamp() * 1000)


def limits_by_topic(limits: Sequence[Limits]) -> dict[str, list[str]]:
    """For each topic `7 d / 1 h` (oldest / newest allowed), with the time of each change. Limits that came
    back after others are there `again`."""
    return {
        topic: [_limits(limit) + _since(limit, known[:at], known) for at, limit in enumerate(known)]
        for topic, known in grouped(limits, itemgetter("topic")).items()
    }


def _limits(limit: Limits) -> str:
    if limit["timestamp_type"] == "LogAppendTime":
        return "broker's time"
    return f"{bound(limit['before_max_ms'])} / {bound(limit['after_max_ms'])}"


def _since(limit: Limits, before: Sequence[Limits], of_topic: Sequence[Limits]) -> str:
    first_ts = limit["first_ts"]
    if any(earlier["first_ts"] > first_ts for earlier in before):
        return " again"
    is_first = all(other["first_ts"] >= first_ts for other in of_topic)
    return "" if is_first else f" from {first_ts[11:16]}"


def waiver(row: WouldReject, before: str, chars: int = 60) -> str:
    """`before` and the name of the row's waiver, or nothing if there is none."""
    return f"{before}{short(row['waiver'], chars)}" if row["waiver"] else ""


def days(report: Report) -> str:
    """`2026-11-20`, or `2026-11-20 to 2026-11-21`."""
    first, last = report["first_day"], report["last_day"]
    return first if first == last else f"{first} to {last}"


def days_in_words(days: Sequence[str]) -> str:
    """`2026-11-14 to 2026-11-19, 2026-11-21`: days in their order, consecutive ones as one span."""
    spans: list[list[str]] = []
    for day in days:
        if spans and date.fromisoformat(day) - date.fromisoformat(spans[-1][-1]) == timedelta(days=1):
            spans[-1] = [spans[-1][0], day]
        else:
            spans.append([day])
    return ", ".join(" to ".join(span) for span in spans)


def clients(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str | None, str | None]]:
    """(client id, principal) of each."""
    return {(row["client_id"], row["principal"]) for row in rows}


def kafka_4(by_protocol: Sequence[Mapping[str, Any]], by_timestamps: Iterable[Mapping[str, Any]]) -> Kafka4:
    """The clients that Kafka 4 refuses, counted and in a sentence. `by_protocol`: a row for each client and
    API."""
    old, ahead = clients(by_protocol), clients(by_timestamps)
    told, both = many(len(old | ahead), "client"), len(old & ahead)
    use = f"by protocol ({old_use(by_protocol[0], 60)})" if by_protocol else ""
    if old and ahead:
        of_both = f", {count(both)} of them by both" if both else ""
        told = f"{told}: {count(len(old))} {use}, {count(len(ahead))} by timestamps{of_both}"
    else:
        told = f"{told} {use or 'by timestamps'}"
    return Kafka4(clients=len(old | ahead), sentence=f"Kafka 4 refuses {told}." if old or ahead else "")


def old_use(row: Mapping[str, Any], chars: int = 160) -> str:
    """The versions of an API that a client uses and Kafka 4 does not take: `orders: Produce 0`."""
    names = {name: row[name] and short(row[name], chars) for name in ("principal", "client_software")}
    return use_text({**row, **names, "client_id": short(client(row["client_id"]), chars)})
