"""The producers of bad or rejected records, for people: the offenders joined, with advice. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tsproxy.decisions.totals import Key
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import CANDIDATE, FAR_BEHIND_MS
from tsproxy.model.units import UNITS
from tsproxy.model.verdict import Reason, UnitGuess
from tsproxy.model.words import dated
from tsproxy.proxy.metrics.offenders import Offender, highest

LATELY_MS: Final = 5 * 60_000
"""A client that has sent such records within this time counts as a client that still sends them."""

_ABOUT_TIME: Final = frozenset(
    {
        Reason.TOO_FAR_AHEAD,
        Reason.TOO_OLD,
        Reason.NEGATIVE,
        Reason.MISSING,
        Reason.TYPE_MISMATCH,
        Reason.JUMP_AHEAD,
    }
)


@dataclass(frozen=True, slots=True)
class Sender:
    """One mistake of one client in one topic. `row` has its sums."""

    row: Offender

    @property
    def is_rest(self) -> bool:
        return self.row.key.folded is True

    @property
    def is_only_counted(self) -> bool:
        return self.row.key.would_reject is True

    @property
    def is_about_time(self) -> bool:
        return self.row.key.reason in _ABOUT_TIME or self.row.key.verdict == VerdictName.REPAIRED

    def sends_now(self, now_ms: int) -> bool:
        return now_ms - self.row.last_ms < LATELY_MS

    @property
    def who(self) -> tuple[str | None, str | None]:
        """The producer, by client id and principal. One producer may make several mistakes."""
        return self.row.key.client_id, self.row.key.principal

    @property
    def name(self) -> str:
        return "all others" if self.is_rest else self.row.key.client_id or "(no client id)"

    @property
    def mistake(self) -> tuple[str, str | None]:
        """The mistake, and the advice for the owner of the producer. The row that sums up others has none."""
        key, unit = self.row.key, _unit(self.row.key)
        if self.is_rest:
            return "several mistakes", None
        if unit is not None and unit in UNITS:
            advice = f"{UNITS[unit].advice}: Kafka wants milliseconds since 1970"
            return f"timestamps are in {UNITS[unit].name}", advice
        if unit is not None:
            text = "timestamps are 0: a time that was never set"
            return text, "set the event's time, or send no timestamp"
        if self._is_far_behind:
            advice = "an old archive? If not, check the producer's unit and clock"
            return "timestamps are far behind the clock", advice
        if key.reason and key.is_about_records:
            return Reason(key.reason).cause, Reason(key.reason).fix
        return _error_name(key.error_code), "look up the error code in Kafka's documentation"

    @property
    def outcome(self) -> str:
        key = self.row.key
        if self.is_only_counted:
            return "far behind, only counted" if self._is_far_behind else "counted, not rejected"
        return "repaired" if key.verdict == VerdictName.REPAIRED else "rejected"

    @property
    def _is_far_behind(self) -> bool:
        """True if the candidate limits counted records that are more than ten years old, by their example. No
        broker limit rejects old records by default, so these are likely mistakes."""
        key, sent = self.row.key, self.row.timestamp_ms
        is_counted = key.rule == CANDIDATE and key.reason == Reason.TOO_OLD
        return is_counted and (sent is None or sent < self.row.last_ms - FAR_BEHIND_MS)

    def sent(self, now_ms: int) -> str | None:
        """An example of a timestamp, with its date, and the date that was probably meant."""
        sent = self.row.timestamp_ms
        if sent is None or self.is_rest:
            return None
        unit = _unit(self.row.key)
        text = f"sent {sent}, which is {dated(sent) or 'beyond the calendar'}"
        if unit is None or unit not in UNITS:
            return text
        return f"{text}; probably meant {dated(UNITS[unit].read(sent, now_ms))}"


def senders(rows: Iterable[Offender], now_ms: int) -> Sequence[Sender]:
    """The senders, the highest score first. Batches that the broker rejected, before the limits were known
    here, are counted together with batches that the proxy rejected."""
    every = list(rows)
    joined = highest((_joined(row) for row in every), now_ms, len(every))
    return [Sender(row) for row in joined]


def _joined(row: Offender) -> Offender:
    key = row.key
    if key.folded:
        return row
    rejections = (VerdictName.REJECTED, VerdictName.BROKER_REJECTED)
    is_rejected = key.verdict in rejections and key.reason is not None and key.is_about_records
    merged = key._replace(
        listener="",
        verdict=VerdictName.REJECTED if is_rejected else key.verdict,
        error_code=int(ErrorCode.NONE) if is_rejected else key.error_code,
        rule=CANDIDATE if key.rule == CANDIDATE else None,
        mode=None,
        waiver=None,
    )
    return Offender(merged, *(getattr(row, name) for name in Offender.__dataclass_fields__ if name != "key"))


def _unit(key: Key) -> UnitGuess | None:
    return UnitGuess(key.unit_guess) if key.unit_guess else None


def _error_name(error_code: int) -> str:
    known = error_code in ErrorCode.__members__.values()
    return f"the answer was {ErrorCode(error_code).name if known else f'error {error_code}'}"
