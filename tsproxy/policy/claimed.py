"""Rules that allow more to clients that merely claim a name: `allowances`.

A client id and a library's name (KIP-511) are claims of the client, and any client may claim the same.
Principals are proven to the broker or by a certificate, addresses by the connection.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from tsproxy.model.policy import (
    Choice,
    LimitsFrom,
    Match,
    Mode,
    NamePattern,
    Policy,
    Rule,
    RuleSettings,
    TimeLimit,
)

CLAIMS: Final = ("client_ids", "client_software")
"""Fields of `Match` that hold what clients say of themselves."""
MOST_COMPARED: Final = 20_000
"""Pairs of rules that are looked at, some 0.1 s: a reload asks while clients are served."""
_STRICTNESS: Final = {Mode.OFF: 0, Mode.AUDIT: 1, Mode.ENFORCE: 2}
_VALUES: Final = ("no_timestamp", "zero", "negative")


def claims_of(match: Match) -> tuple[str, ...]:
    """The fields by which alone it tells clients apart, if any client may claim what they hold; else none."""
    if match.principals or match.addresses:
        return ()
    return tuple(name for name in CLAIMS if getattr(match, name))


def allowances(policy: Policy) -> Iterator[tuple[Rule, str]]:
    """Rules for a claim alone that forbid less than others meet who do not claim it, and what is allowed.

    The others meet later rules that may be for the same topics, or the defaults. If there are very many
    rules, only the first ones are compared.
    """
    left = MOST_COMPARED
    for index, rule in enumerate(policy.rules):
        if not claims_of(rule.match):
            continue
        for other in _met_without(policy, rule.match, policy.rules[index + 1 :]):
            left -= 1
            if left < 0:
                return
            what = _allowed(policy, rule.settings, other) if other else None
            if what is not None:
                yield rule, what
                break


def _met_without(policy: Policy, match: Match, later: Sequence[Rule]) -> Iterator[RuleSettings | None]:
    """None for a later rule that is for other topics."""
    for rule in later:
        yield rule.settings if _may_meet(match.topics, rule.match.topics) else None
        if rule.match == Match():
            return
    is_used = policy.limits_from is not LimitsFrom.BROKER
    yield (
        RuleSettings(before=policy.defaults.before, after=policy.defaults.after)
        if is_used
        else RuleSettings()
    )


def _may_meet(some: Sequence[NamePattern], others: Sequence[NamePattern]) -> bool:
    """True where a topic may be for both, as far as that can be told from how the patterns are written."""
    if not some or not others:
        return True
    return any(
        one.text == other.text or one.fits(other.text) or other.fits(one.text)
        for one in some
        for other in others
    )


def _allowed(policy: Policy, settings: RuleSettings, other: RuleSettings) -> str | None:
    """In words of the configuration, what `settings` allow and `other` does not; None for nothing."""
    mode, others_mode = settings.mode or policy.mode, other.mode or policy.mode
    if _STRICTNESS[mode] < _STRICTNESS[others_mode]:
        return f"mode: {mode}"
    if mode is Mode.OFF or others_mode is Mode.OFF:
        return None
    for side in ("before", "after"):
        if not (settings.preset or other.preset) and _is_wider(policy, settings, other, side):
            return f"a wider limit {side}"
    for name in _VALUES:
        if (_choice(policy, settings, name), _choice(policy, other, name)) == (Choice.ACCEPT, Choice.REJECT):
            return f"{name}: accept"
    missing = {each.name for each in other.custom_rules} - {each.name for each in settings.custom_rules}
    return f"no {min(missing)}" if missing else None


def _is_wider(policy: Policy, settings: RuleSettings, other: RuleSettings, side: str) -> bool:
    """A limit that is not given is the topic's, which the brokers hold anyway: any other may be narrower."""
    most, others_most = _bound(policy, settings, side), _bound(policy, other, side)
    if others_most is None or others_most.max_ms is None:
        return False
    return most is None or most.max_ms is None or most.max_ms > others_most.max_ms


def _bound(policy: Policy, settings: RuleSettings, side: str) -> TimeLimit | None:
    own: TimeLimit | None = getattr(settings, side)
    if own is None and policy.limits_from is not LimitsFrom.BROKER:
        own = getattr(policy.defaults, side)
    return own


def _choice(policy: Policy, settings: RuleSettings, name: str) -> Choice:
    return getattr(settings, name) or getattr(policy.defaults, name) or Choice.ACCEPT
