"""How strict settings are: one order for each field of `RuleSettings`, for everything that compares settings.

allowance(policy, settings, other)    something that `settings` allow and `other` does not
is_wider(limit_ms, other_ms)          the same for one limit
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tsproxy.model.policy import (
    PRESETS,
    Choice,
    Inspect,
    LimitsFrom,
    Mode,
    OnViolation,
    Policy,
    RuleSettings,
)

Allowance = Callable[[Policy, RuleSettings, RuleSettings], str | None]
"""Something that the first settings allow and the second ones do not, in the configuration's words; None if
there is nothing."""


def allowance(policy: Policy, settings: RuleSettings, other: RuleSettings) -> str | None:
    """Something that `settings` allow and `other` does not, as far as the file shows. A limit that is not
    given counts as unlimited, since brokers enforce the topic's own limit anyway."""
    mode = ORDER["mode"](policy, settings, other)
    if mode is not None or Mode.OFF in (_mode(policy, settings), _mode(policy, other)):
        return mode
    allowed = (allows(policy, settings, other) for allows in ORDER.values())
    return next((what for what in allowed if what is not None), None)


def is_wider(limit_ms: int | None, other_ms: int | None) -> bool:
    """True if this limit allows more than the other one. None is unlimited."""
    return other_ms is not None and (limit_ms is None or limit_ms > other_ms)


def _mode(policy: Policy, settings: RuleSettings) -> Mode:
    return settings.mode or policy.mode


def _looser_mode(policy: Policy, settings: RuleSettings, other: RuleSettings) -> str | None:
    strictest_first = (Mode.ENFORCE, Mode.AUDIT, Mode.OFF)
    mode = _mode(policy, settings)
    is_looser = strictest_first.index(mode) > strictest_first.index(_mode(policy, other))
    return f"mode: {mode}" if is_looser else None


def _wider_limit(side: str) -> Allowance:
    def allows(policy: Policy, settings: RuleSettings, other: RuleSettings) -> str | None:
        if not is_wider(_limit_ms(policy, settings, side), _limit_ms(policy, other, side)):
            return None
        is_presets = settings.preset is not None and getattr(settings, side) is None
        return f"preset: {settings.preset}" if is_presets else f"a wider limit {side}"

    return allows


def _limit_ms(policy: Policy, settings: RuleSettings, side: str) -> int | None:
    """The limit as far as the file shows it, as `policy.resolve` finds it. None is unlimited."""
    limit = getattr(settings, side)
    if limit is None and settings.preset is not None:
        limit = getattr(PRESETS[settings.preset], side)
    if limit is None and policy.limits_from is not LimitsFrom.BROKER:
        limit = getattr(policy.defaults, side)
    return None if limit is None else limit.max_ms


def _ordered(name: str, *strictest_first: object, without: object, key: str | None = None) -> Allowance:
    """The order of the values of one setting. A value in a tuple is as strict as the others in it. The value
    `without` holds if neither the settings nor the defaults give one."""
    levels = [level if isinstance(level, tuple) else (level,) for level in strictest_first]
    rank_of = {value: rank for rank, level in enumerate(levels) for value in level}

    def allows(policy: Policy, settings: RuleSettings, other: RuleSettings) -> str | None:
        value, others = (_given(policy, rule_settings, name, without) for rule_settings in (settings, other))
        is_looser = rank_of[value] > rank_of[others]
        return f"{key or name}: {'yes' if value is True else value}" if is_looser else None

    return allows


def _given(policy: Policy, settings: RuleSettings, name: str, without: object) -> Any:
    values = (getattr(settings, name), getattr(policy.defaults, name), without)
    return next(value for value in values if value is not None)


def _missing_rule(_: Policy, settings: RuleSettings, other: RuleSettings) -> str | None:
    missing = {rule.name for rule in other.custom_rules} - {rule.name for rule in settings.custom_rules}
    return f"no {min(missing)}" if missing else None


def _nothing(*_: object) -> None:
    """For a setting that changes or copies batches, but does not decide which ones are accepted."""


ORDER: Final[Mapping[str, Allowance]] = {
    "mode": _looser_mode,
    "before": _wider_limit("before"),
    "after": _wider_limit("after"),
    "preset": _nothing,  # its limits are compared as `before` and `after`
    "no_timestamp": _ordered(
        "no_timestamp", Choice.REJECT, (Choice.ACCEPT, Choice.STAMP), without=Choice.ACCEPT
    ),
    "zero": _ordered("zero", Choice.REJECT, Choice.ACCEPT, without=Choice.ACCEPT),
    "negative": _ordered("negative", Choice.REJECT, Choice.ACCEPT, without=Choice.ACCEPT),
    "on_violation": _ordered(
        "on_violation",
        OnViolation.REJECT,
        OnViolation.REPAIR,
        OnViolation.STAMP,
        without=OnViolation.REJECT,
    ),
    "extended_timestamps": _ordered("extended_timestamps", False, True, without=False),
    "inspect_compressed": _ordered(
        "inspect_compressed",
        Inspect.ALL,
        Inspect.AUTO,
        Inspect.ADAPTIVE,
        without=Inspect.AUTO,
        key="inspect.compressed",
    ),
    "custom_rules": _missing_rule,
    "dead_letters": _nothing,
    "keep_both_times": _nothing,
    "keep_original_time": _nothing,
}
"""By field of `RuleSettings`: what one value allows and another does not."""
