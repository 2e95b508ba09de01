"""The limits and rules that a policy enforces: in words (`enforced`, `mode_text`), and as a rank (`extent`).

The terminal, `check`, `doctor`, the live page and the metrics say the same. A rule may have its own mode, so
`policy.mode` alone does not say it.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final

from tsproxy.config.values import bound_text
from tsproxy.model.policy import LimitsFrom, Match, Mode, Policy, Rule, RuleSettings, TimeLimit

NAMES_SHOWN: Final = 3
NOTHING: Final = "nothing"


class Extent(IntEnum):
    """How much is enforced."""

    NOTHING = 0
    RULES = 1
    """Only rules whose own mode is `enforce`."""
    ALL = 2


def extent(policy: Policy) -> Extent:
    if _is_general(policy):
        return Extent.ALL
    return Extent.RULES if _rules(policy) else Extent.NOTHING


def enforced(policy: Policy) -> str:
    return "; ".join(_parts(policy)) or NOTHING


def mode_text(policy: Policy) -> str:
    """`mode audit`, and what is enforced if the rules differ from it."""
    is_all = extent(policy) is (Extent.ALL if policy.mode is Mode.ENFORCE else Extent.NOTHING)
    return f"mode {policy.mode}" + ("" if is_all else f" (enforced: {enforced(policy)})")


def few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN:,} more"


def _parts(policy: Policy) -> Iterator[str]:
    if _is_general(policy):
        yield _limits(policy)
    if names := _rules(policy):
        yield f"rules: {few(names)}"


def _reached(policy: Policy) -> Sequence[Rule]:
    """The rules up to the first that matches everything."""
    matches = [rule.match for rule in policy.rules]
    return policy.rules[: matches.index(Match()) + 1] if Match() in matches else policy.rules


def _is_general(policy: Policy) -> bool:
    """False as well if a rule that matches everything has another mode."""
    last = next((rule.settings.mode for rule in _reached(policy) if rule.match == Match()), None)
    return policy.mode is Mode.ENFORCE and last in (None, Mode.ENFORCE)


def _rules(policy: Policy) -> list[str]:
    modes = {rule.name: rule.settings.mode or policy.mode for rule in _reached(policy)}
    return [name for name, mode in modes.items() if mode is Mode.ENFORCE]


def _limits(policy: Policy) -> str:
    if policy.limits_from is LimitsFrom.BROKER:
        return "the limits of each topic"
    bounds = _bounds(policy.defaults)
    if policy.limits_from is LimitsFrom.CONFIG:
        return f"the limits of policy.defaults ({bounds})"
    return f"the limits of each topic, or those of policy.defaults ({bounds}) where they are stricter"


def _bounds(settings: RuleSettings) -> str:
    """`before 7d, after 1h`; a side without a limit is left out."""
    sides = (("before", settings.before), ("after", settings.after))
    shown = [f"{side} {bound_text(limit)}" for side, limit in sides if isinstance(limit, TimeLimit)]
    return ", ".join(shown) or "no limit of their own"
