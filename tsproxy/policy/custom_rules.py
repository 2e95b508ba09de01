"""Calls a custom rule and catches its errors: `consult`, `bounds_of`. `declared_bounds` catches none."""

import re
from collections.abc import Sequence
from inspect import getattr_static
from itertools import islice
from operator import index as whole
from pathlib import PurePath
from traceback import walk_tb
from typing import Final

from tsproxy.model.custom_rule import ENDS_PROCESS, CustomRule, RuleAnswer, RuleContext, TimestampRule
from tsproxy.model.kafka import LONG_MAX

MAX_TEXT: Final = 1_000
"""The most characters of a rule's text that a client gets."""
_SURROGATE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""A character that no text on the wire has. The others of its kind stand for bytes that are no UTF-8."""


def consult(rule: CustomRule, timestamps_ms: Sequence[int], context: RuleContext) -> RuleAnswer:
    """The rule's answer. If the rule raises an error, the answer has a `failure`."""
    try:
        named = islice(rule.rule.culprits(tuple(timestamps_ms), context), len(timestamps_ms) + 1)
        pairs: list[tuple[int, object]] = [(whole(index), text) for index, text in named]
        reason = rule.reason
    except ENDS_PROCESS:
        raise
    except BaseException as error:  # the operator's code, so this is the rule's failure
        return RuleAnswer(rule, failure=f"{type(error).__name__}{_place(error, rule.rule)}")
    places = [index for index, _ in pairs]
    if places != sorted(set(places)) or any(not 0 <= index < len(timestamps_ms) for index in places):
        return RuleAnswer(rule, failure="it named records that are not there, or not in order")
    culprits: list[tuple[int, str]] = []
    for index, text in pairs:
        if not isinstance(text, str):
            kind = type(text).__name__
            return RuleAnswer(rule, failure=f"the text of record {index} is of type {kind}, not str")
        if _SURROGATE.search(text):
            return RuleAnswer(rule, failure=f"the text of record {index} has half of a character")
        culprits.append((index, text[:MAX_TEXT]))
    return RuleAnswer(rule, tuple(culprits), reason)


def _place(error: BaseException, rule: TimestampRule) -> str:
    """The place of the error: the innermost line of the rule's own module, or of code that it called.

    The error's text may quote values of records, so it is left out.
    """
    steps = [(step.f_globals.get("__name__", ""), step, line) for step, line in walk_tb(error.__traceback__)]
    wrapped = getattr_static(rule, "__wrapped__", rule)  # `getattr` would run the rule's code
    in_rule = [step for step in steps if step[0] == type(wrapped).__module__]
    called = [step for step in steps if not step[0].startswith("tsproxy.")]
    if not (in_rule or called):
        return " in its answer"  # such as no pairs, or pairs of something else
    _, step, line = (in_rule or called)[-1]
    return f" at {PurePath(step.f_code.co_filename).name}:{line}"


def bounds_of(rule: CustomRule) -> tuple[int | None, int | None] | None:
    """The bounds that the rule declares; None if it declares no bounds, or if they are wrong by now."""
    try:
        return declared_bounds(rule.rule)
    except ENDS_PROCESS:
        raise
    except BaseException:  # the operator's code: without bounds the session judges each batch
        return None


def declared_bounds(rule: TimestampRule) -> tuple[int | None, int | None] | None:
    """The bounds within which the rule declares that it accepts any timestamp; None if it declares no bounds.

    Raises ValueError for bounds that are not allowed, and whatever the rule's code raises.
    """
    bounds = getattr(rule, "bounds", None)
    if bounds is None:
        return None
    before_max_ms, after_max_ms = both = bounds()
    for bound in (before_max_ms, after_max_ms):
        if bound is not None and not (isinstance(bound, int) and 0 <= bound <= LONG_MAX):
            raise ValueError(f"{both!r}; must be two whole numbers of ms from 0 to {LONG_MAX}, or None")
    return before_max_ms, after_max_ms
