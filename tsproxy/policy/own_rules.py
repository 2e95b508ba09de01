"""What an operator's own rule says of a batch: asked once (`consult`), and contained.

Its records go through it after all that a broker checks of each; so what a broker would reject is
rejected in a broker's words, and the rule decides about the rest.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.own_rule import Consulted, OwnRule, RuleContext
from tsproxy.model.verdict import Reason, Reject, Violation
from tsproxy.policy import timestamps
from tsproxy.policy.case import Case
from tsproxy.policy.units import REASONS_OF_SIZE, guess_unit, unit_hint

MOST_TEXT: Final = 1_000
"""Characters of a rule's text that a client gets."""


def consult(own: OwnRule, timestamps_ms: Sequence[int], context: RuleContext) -> Consulted:
    """Raises nothing, whatever the rule does."""
    try:
        named = islice(own.rule.culprits(tuple(timestamps_ms), context), len(timestamps_ms) + 1)
        culprits = tuple((int(index), str(text)[:MOST_TEXT]) for index, text in named)
    except (Exception, SystemExit) as error:  # somebody else's code: what it raises is its failure, not ours
        return Consulted(own, failure=type(error).__name__)
    places = [index for index, _ in culprits]
    if places != sorted(set(places)) or any(not 0 <= index < len(timestamps_ms) for index in places):
        return Consulted(own, failure="it named records that are not there, or not in order")
    return Consulted(own, culprits)


def own_rule_is_kept(case: Case) -> Reject | None:
    """The rejection of the first rule that rejects, with the text that it has for each record."""
    found = next((found for found in case.consulted() if found.rejects), None)
    if found is None:
        return None
    if found.failure is not None:
        text = f"The proxy's rule {case.policy.rule} failed, and rejects what it cannot judge"
        return Reject(ErrorCode.INVALID_RECORD, text, Reason.OWN_RULE, detail=text)
    times, now_ms = case.read_records().timestamps_ms, case.now_ms
    reason = found.own.reason
    is_of_size = reason in REASONS_OF_SIZE
    names_unit = is_of_size and case.policy.names_unit
    culprits = tuple(
        Violation(index, times[index], reason, _with_unit(text, times[index], now_ms) if names_unit else text)
        for index, text in found.culprits[: case.culprits_listed]
    )
    first_ms = times[found.culprits[0][0]]
    return Reject(
        ErrorCode.INVALID_TIMESTAMP,
        timestamps.REJECTED,
        reason,
        culprits,
        len(found.culprits),
        guess_unit(first_ms, now_ms) if is_of_size else None,
    )


def _with_unit(text: str, timestamp_ms: int, now_ms: int) -> str:
    hint = unit_hint(timestamp_ms, now_ms)
    return f"{text} ({hint})" if hint else text
