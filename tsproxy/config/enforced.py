"""The limits and rules that a policy enforces: in words (`enforced`, `mode_text`), and as a rank (`extent`).

The terminal, `check`, `doctor`, the live page and the metrics say the same. A rule may have its own mode, so
`policy.mode` alone does not say it.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final

from tsproxy.config.values import bound_text
from tsproxy.model.policy import LimitsFrom, Mode, Policy, RuleSettings, TimeLimit

NAMES_SHOWN: Final = 3
NOTHING: Final = "nothing"


class Extent(IntEnum):
    """How much is enforced."""

    NOTHING = 0
    RULES = 1
    """Only rules whose own mode is `enforce`."""
    ALL = 2


def extent(policy: Policy) -> Extent:
    if policy.mode is Mode.ENFORCE:
        return Extent.ALL
    return Extent.RULES if _rules(policy) else Extent.NOTHING


def enforced(policy: Policy) -> str:
    return "; ".join(_parts(policy)) or NOTHING


def mode_text(policy: Policy) -> str:
    """`mode audit`, with the rules that are enforced nevertheless."""
    but = f" (enforced: {enforced(policy)})" if extent(policy) is Extent.RULES else ""
    return f"mode {policy.mode}{but}"


def few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN:,} more"


def _parts(policy: Policy) -> Iterator[str]:
    if policy.mode is Mode.ENFORCE:
        yield _limits(policy)
    if names := _rules(policy):
        yield f"rules: {few(names)}"


def _rules(policy: Policy) -> list[str]:
    return [rule.name for rule in policy.rules if (rule.settings.mode or policy.mode) is Mode.ENFORCE]


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
