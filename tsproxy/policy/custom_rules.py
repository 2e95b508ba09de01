"""Calls a custom rule and catches its errors: `consult`, `bounds_of`."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from tsproxy.model.custom_rule import CustomRule, RuleAnswer, RuleContext

MOST_TEXT: Final = 1_000
"""The most characters of a rule's text that a client gets."""


def consult(rule: CustomRule, timestamps_ms: Sequence[int], context: RuleContext) -> RuleAnswer:
    """The rule's answer. If the rule raises an error, the answer has a `failure`."""
    try:
        named = islice(rule.rule.culprits(tuple(timestamps_ms), context), len(timestamps_ms) + 1)
        culprits = tuple((int(index), str(text)[:MOST_TEXT]) for index, text in named)
    except (Exception, SystemExit) as error:  # the operator's code, so this is the rule's failure
        return RuleAnswer(rule, failure=type(error).__name__)
    places = [index for index, _ in culprits]
    if places != sorted(set(places)) or any(not 0 <= index < len(timestamps_ms) for index in places):
        return RuleAnswer(rule, failure="it named records that are not there, or not in order")
    return RuleAnswer(rule, culprits)


def bounds_of(rule: CustomRule) -> tuple[int | None, int | None] | None:
    """The bounds within which the rule declares that it accepts any timestamp; None if it declares no bounds,
    or invalid bounds."""
    bounds = getattr(rule.rule, "bounds", None)
    if bounds is None:
        return None
    try:
        before_max_ms, after_max_ms = bounds()
    except Exception:  # the operator's code: without bounds the session judges each batch
        return None
    both = (before_max_ms, after_max_ms)
    return both if all(each is None or (isinstance(each, int) and each >= 0) for each in both) else None
