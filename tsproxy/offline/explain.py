"""`tsproxy explain` as text: the rule, the limits, the verdict on the timestamp, and its reason."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from tsproxy.model.kafka import LONG_MIN, NO_TIMESTAMP, ErrorCode, TimestampType
from tsproxy.model.policy import FAR_BEHIND_MS, INTERNAL_TOPICS, TOPIC_LIMITS, Mode
from tsproxy.model.verdict import Reason, Reject, TopicLimits
from tsproxy.offline.words import instant, span
from tsproxy.policy.explain import Explanation

_FATES: Final = {
    Mode.ENFORCE: "rejected",
    Mode.AUDIT: "forwarded, and counted as what would be rejected",
    Mode.OFF: "forwarded without a verdict",
}
_RULES: Final = {
    TOPIC_LIMITS: "none; the limits that policy.limits_from names decide",
    INTERNAL_TOPICS: "none; an internal topic is left alone unless a rule names it",
}
_NUMBERS: Final = re.compile(r"(-?\d+)")


def as_json(answer: Explanation) -> dict[str, object]:
    policy = answer.policy
    return {
        "forwarded": answer.is_forwarded if answer.is_certain else None,
        "rule": policy.rule,
        "place": answer.rule.place if answer.rule else None,
        "mode": policy.mode.value,
        "waiver": policy.waiver,
        "limits": _limits_as_json(policy.limits),
        "limits_known": not answer.unknown_limits,
        "limits_unknown": list(answer.unknown_limits),
        "extended": answer.is_extended,
        "mended_ms": answer.repaired_ms,
        "rejection": _rejection_as_json(answer.rejection, _text(answer)),
        "candidate": _limits_as_json(policy.candidate),
        "candidate_asked": answer.is_candidate_asked,
        "candidate_rejection": _rejection_as_json(answer.candidate, _text_of(answer.candidate)),
        "unit_hint": answer.unit_hint,
        "failed_rules": list(answer.failures),
    }


def as_text(answer: Explanation, timestamp_ms: int, now_ms: int) -> str:
    return "\n".join(f"{name:<10} {text}" for name, text in _lines(answer, timestamp_ms, now_ms))


def _lines(answer: Explanation, timestamp_ms: int, now_ms: int) -> Iterator[tuple[str, str]]:
    policy = answer.policy
    yield "time", _time(timestamp_ms, now_ms, answer.is_extended)
    yield "rule", f"{answer.rule.name} ({answer.rule.place})" if answer.rule else _RULES[policy.rule]
    if policy.only_brokers_write:
        yield "topic", "only brokers write to it; a client gets their error, whatever the timestamp"
    if waiver := answer.waiver:
        yield "waiver", f"{waiver.name} ({waiver.place}), until {instant(waiver.until_ms)}"
    yield "mode", policy.mode.value
    if policy.mode is not Mode.OFF:
        unknown = "unknown (no broker was asked); pass --before and --after"
        yield "limits", _limits(policy.limits, answer.unknown_limits) if policy.limits else unknown
    unless = "" if answer.is_certain else ", unless the topic's own limits say otherwise"
    yield "fate", f"{_fate(answer)}{unless}"
    if answer.rejection:
        yield "reason", f"{answer.rejection.reason.value}, error code {_code(answer.rejection)}"
        yield "text", _text(answer) or "none"
    for failure in answer.failures:
        yield "failed", failure
    if policy.candidate and answer.is_candidate_asked:
        is_far_behind = timestamp_ms < now_ms - FAR_BEHIND_MS
        yield "candidate", f"{_limits(policy.candidate)}: {_by_candidate(answer.candidate, is_far_behind)}"
    if answer.unit_hint:
        yield "guess", answer.unit_hint


def _fate(answer: Explanation) -> str:
    if answer.repaired_ms is not None:
        return f"repaired, and forwarded as {answer.repaired_ms}, {instant(answer.repaired_ms)}"
    mode = answer.policy.mode
    if answer.rejection or mode is Mode.OFF:
        return _FATES[mode]
    return "forwarded in brokers' own reading, with bit 6 cleared" if answer.is_extended else "forwarded"


def _by_candidate(rejection: Reject | None, is_far_behind: bool) -> str:
    """The verdict of the candidate limits, as text. It does not mention broker limits for old timestamps:
    Kafka 4 has none by default. Reports call the same timestamps far behind."""
    if rejection is None:
        return "would be accepted"
    return (
        "counted as far behind, rejected by nothing"
        if rejection.reason is Reason.TOO_OLD and is_far_behind
        else "would be rejected"
    )


def _time(timestamp_ms: int, now_ms: int, is_extended: bool) -> str:
    if timestamp_ms == (LONG_MIN if is_extended else NO_TIMESTAMP):
        return f"{timestamp_ms} says that there is none ({'KIP-228' if is_extended else 'KIP-32'})"
    ahead_ms = timestamp_ms - now_ms
    side = "ahead of" if ahead_ms > 0 else "behind"
    return f"{timestamp_ms} is {instant(timestamp_ms)}, {span(abs(ahead_ms))} {side} {instant(now_ms)}"


def _limits(limits: TopicLimits, unknown: Collection[str] = ()) -> str:
    if limits.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return "none: the broker writes its own time (LogAppendTime)"
    sides = (("before", limits.before_max_ms, "behind"), ("after", limits.after_max_ms, "ahead"))
    return ", ".join(_side(name, bound_ms, word, name in unknown) for name, bound_ms, word in sides)


def _side(name: str, bound_ms: int | None, word: str, is_unknown: bool) -> str:
    if is_unknown:
        at_first = f"unknown {word} (" if bound_ms is None else f"{span(bound_ms)} {word} (or "
        return f"{at_first}the topic's own; pass --{name})"
    return f"{'any' if bound_ms is None else span(bound_ms)} {word}"


def _text(answer: Explanation) -> str | None:
    """The text that the client gets: of the record, or of the batch if it is rejected as a whole. A number
    that depends on limits that are not known is `…`."""
    texts = [_text_of(one.rejection) or "" for one in (answer, *answer.by_others)]
    parts, *others = (_NUMBERS.split(text) for text in texts)
    alike = [other for other in others if other[::2] == parts[::2]]
    shown = (part if {*same} <= {part} else "…" for part, *same in zip(parts, *alike, strict=True))
    return "".join(shown) or None


def _text_of(rejection: Reject | None) -> str | None:
    if rejection is None:
        return None
    return rejection.violations[0].message if rejection.violations else rejection.error_message


def _code(rejection: Reject) -> str:
    return f"{int(rejection.error_code)} ({ErrorCode(rejection.error_code).name})"


def _limits_as_json(limits: TopicLimits | None) -> dict[str, object] | None:
    if limits is None:
        return None
    return {
        "timestamp_type": limits.timestamp_type.name,
        "before_max_ms": limits.before_max_ms,
        "after_max_ms": limits.after_max_ms,
    }


def _rejection_as_json(rejection: Reject | None, text: str | None) -> dict[str, object] | None:
    if rejection is None:
        return None
    return {
        "reason": rejection.reason.value,
        "unit_guess": rejection.unit_guess.value if rejection.unit_guess else None,
        "error_code": int(rejection.error_code),
        "text": text,
    }
