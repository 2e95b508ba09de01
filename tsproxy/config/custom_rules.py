"""Custom rules: Python code of an operator, found by its entry point (`load_rule`)."""

import pickle
from typing import cast

from tsproxy.model.custom_rule import ENTRY_POINTS, TimestampRule
from tsproxy.model.verdict import Reason


class RuleError(Exception):
    """No rule can be loaded by that name. The text says why, and lists the names that exist."""


def load_rule(name: str) -> TimestampRule:
    """The rule of that name. Raises RuleError."""
    from importlib.metadata import entry_points  # its import takes 10 ms, and few configurations name a rule

    found = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise RuleError(
            f"{name!r} is no entry point in the group {ENTRY_POINTS} of what is installed here; "
            f"there are: {known}. Install the package that brings it where tsproxy is"
        )
    try:
        loaded = found[name].load()
        rule = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # the operator's code, so any error is the operator's
        raise RuleError(f"{found[name].value} cannot be loaded: {type(error).__name__}: {error}") from None
    if not callable(getattr(rule, "culprits", None)):
        raise RuleError(f"{found[name].value} has no method culprits(timestamps_ms, context)")
    reason = getattr(rule, "reason", Reason.CUSTOM_RULE)
    if reason not in tuple(Reason):
        words = ", ".join(Reason)
        raise RuleError(f"{found[name].value} has the reason {reason!r}; must be one of {words}")
    try:
        pickle.dumps(rule)
    except Exception as error:  # pickling runs the rule's own code, too
        raise RuleError(f"{found[name].value} cannot be handed to workers: {error}") from None
    return cast("TimestampRule", rule)
