"""The check of custom rules, which operators write themselves.

This check comes after all checks that a broker makes of each record. So a batch that a broker would reject is
rejected in the broker's words, and the rules decide about the rest.
"""

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.verdict import Listed, Reason, Reject, Trait
from tsproxy.policy import timestamps
from tsproxy.policy.checks.check import ANY_TIME, FastPathBounds, narrowest
from tsproxy.policy.context import BatchContext
from tsproxy.policy.custom_rules import bounds_of
from tsproxy.policy.units import guess_unit, unit_hint


def rules_are_kept(context: BatchContext) -> Reject | None:
    """The rejection of the first rule that rejects the batch, with the rule's text for each record."""
    answer = next((answer for answer in context.answers_of_rules() if answer.rejects), None)
    if answer is None:
        return None
    if answer.failure is not None:
        text = f"The proxy's rule {context.policy.rule} raised an error, so the batch was rejected"
        return Reject(ErrorCode.INVALID_RECORD, context.policy.helped(text), Reason.CUSTOM_RULE, detail=text)
    times, now_ms = context.reader.read_records().timestamps_ms, context.now_ms
    reason = answer.reason
    is_of_size = Trait.OF_SIZE in reason.traits
    names_unit, helped = is_of_size and context.policy.names_unit, context.policy.helped
    listed = answer.culprits[: context.culprits_listed]
    listed_ms = tuple(times[index] for index, _ in listed)

    def fault(at: int) -> tuple[Reason, str]:
        text = listed[at][1]
        return reason, helped(_with_unit(text, listed_ms[at], now_ms) if names_unit else text)

    culprits = Listed(tuple(index for index, _ in listed), listed_ms, fault)
    first_ms = times[answer.culprits[0][0]]
    return Reject(
        ErrorCode.INVALID_TIMESTAMP,
        timestamps.REJECTED,
        reason,
        culprits,
        bad_records=len(answer.culprits),
        unit_guess=guess_unit(first_ms, now_ms) if is_of_size else None,
    )


def some_rule_may_reject(context: BatchContext) -> bool:
    if not context.policy.custom_rules:
        return False
    return not context.is_readable or any(answer.rejects for answer in context.answers_of_rules())


def bounds(policy: TopicPolicy) -> FastPathBounds | None:
    """The bounds within which every rule accepts any timestamp; None if one of the rules has no bounds."""
    if not policy.custom_rules:
        return ANY_TIME
    spans = (bounds_of(rule) for rule in policy.custom_rules)
    return narrowest(span and FastPathBounds(*span) for span in spans)


def _with_unit(text: str, timestamp_ms: int, now_ms: int) -> str:
    hint = unit_hint(timestamp_ms, now_ms)
    return f"{text} ({hint})" if hint else text
