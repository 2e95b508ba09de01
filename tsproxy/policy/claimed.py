"""Rules that allow more to clients that only claim a name: `allowances`.

A client id and a library's name (KIP-511) are claims of the client, and any client may claim the same. The
broker or a certificate proves a principal, and the connection proves an address.
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
"""The fields of `Match` that hold claims of clients."""
SIDES: Final = ("before", "after")
SPECIAL_TIMESTAMPS: Final = ("no_timestamp", "zero", "negative")
"""The fields of `RuleSettings` for special timestamps."""
MOST_COMPARED: Final = 20_000
"""The most pairs of rules that are compared. The comparison takes 0.1 s, and a reload makes it while clients
are served."""
_STRICTNESS: Final = {Mode.OFF: 0, Mode.AUDIT: 1, Mode.ENFORCE: 2}


def claims_of(match: Match) -> tuple[str, ...]:
    """The claims of clients that `match` depends on; none if it also depends on facts that are proven."""
    if match.principals or match.addresses:
        return ()
    return tuple(name for name in CLAIMS if getattr(match, name))


def allowances(policy: Policy) -> Iterator[tuple[Rule, str]]:
    """The rules that depend on claims alone and allow more than the settings of other clients, each with the
    thing that it allows.

    A later rule that may be for the same topics, or the defaults, holds for the other clients. If there are
    very many rules, only the first ones are compared.
    """
    left = MOST_COMPARED
    for index, rule in enumerate(policy.rules):
        if not claims_of(rule.match):
            continue
        for other in _settings_without_claim(policy, rule.match, policy.rules[index + 1 :]):
            left -= 1
            if left < 0:
                return
            what = _allowance(policy, rule.settings, other) if other else None
            if what is not None:
                yield rule, what
                break


def _settings_without_claim(
    policy: Policy, match: Match, later: Sequence[Rule]
) -> Iterator[RuleSettings | None]:
    """The settings that a client may get if it does not claim to fit `match`. None stands for a later rule
    for other topics."""
    for rule in later:
        yield rule.settings if _may_overlap(match.topics, rule.match.topics) else None
        if rule.match == Match():
            return
    if policy.limits_from is LimitsFrom.BROKER:
        yield RuleSettings()
    else:
        yield RuleSettings(before=policy.defaults.before, after=policy.defaults.after)


def _may_overlap(some: Sequence[NamePattern], others: Sequence[NamePattern]) -> bool:
    """True if one topic may fit both lists of patterns, as far as the texts of the patterns show."""
    if not some or not others:
        return True
    return any(
        one.text == other.text or one.fits(other.text) or other.fits(one.text)
        for one in some
        for other in others
    )


def _allowance(policy: Policy, settings: RuleSettings, other: RuleSettings) -> str | None:
    """Something that `settings` allow and `other` does not, in the configuration's words; None if there is
    nothing."""
    mode, others_mode = settings.mode or policy.mode, other.mode or policy.mode
    if _STRICTNESS[mode] < _STRICTNESS[others_mode]:
        return f"mode: {mode}"
    if mode is Mode.OFF or others_mode is Mode.OFF:
        return None
    for side in SIDES:
        if not (settings.preset or other.preset) and is_wider(policy, settings, other, side):
            return f"a wider limit {side}"
    for name in SPECIAL_TIMESTAMPS:
        choices = (choice_of(policy, settings, name), choice_of(policy, other, name))
        if choices == (Choice.ACCEPT, Choice.REJECT):
            return f"{name}: accept"
    missing = {each.name for each in other.custom_rules} - {each.name for each in settings.custom_rules}
    return f"no {min(missing)}" if missing else None


def is_wider(policy: Policy, settings: RuleSettings, other: RuleSettings, side: str) -> bool:
    """True if the limit of `settings` on this side is wider than that of `other`. A limit that is not given
    counts as unlimited, since brokers enforce the topic's own limit anyway."""
    own, others = _limit(policy, settings, side), _limit(policy, other, side)
    if others is None or others.max_ms is None:
        return False
    return own is None or own.max_ms is None or own.max_ms > others.max_ms


def _limit(policy: Policy, settings: RuleSettings, side: str) -> TimeLimit | None:
    own: TimeLimit | None = getattr(settings, side)
    if own is None and policy.limits_from is not LimitsFrom.BROKER:
        own = getattr(policy.defaults, side)
    return own


def choice_of(policy: Policy, settings: RuleSettings, name: str) -> Choice:
    """The choice of `settings`, or else of the defaults, for one of SPECIAL_TIMESTAMPS."""
    return getattr(settings, name) or getattr(policy.defaults, name) or Choice.ACCEPT
