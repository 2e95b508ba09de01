"""Why one timestamp is accepted or rejected: `explain`.

`explain` judges a batch of one record that has this timestamp, and no other fault.
"""

from dataclasses import dataclass
from typing import Final

from tsproxy.model.outcome import Peer
from tsproxy.model.policy import Mode, Policy, Rule, TopicPolicy, Waiver
from tsproxy.model.records import DELETE_HORIZON
from tsproxy.model.verdict import Reject, TopicLimits
from tsproxy.policy.batch_of_times import batch_of_times
from tsproxy.policy.context import BatchContext
from tsproxy.policy.judge import ACCEPT, judge, judge_candidate
from tsproxy.policy.repair import repair_of
from tsproxy.policy.resolve import ClientPolicy
from tsproxy.policy.units import unit_hint

ANY_LIMITS: Final = (TopicLimits(), TopicLimits(before_max_ms=0, after_max_ms=0))
"""The loosest and the strictest limits of a topic."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons why one timestamp is accepted or rejected.

    `rejection` is the rejection by `policy`, also if it is only counted in audit mode, or if the record was
    repaired. A repaired record that must be rejected has the rejection that its repair got. `candidate` is
    the rejection of an accepted timestamp by the candidate limits, which are not asked about any other.
    `rule` is None if no rule fits: the limits of `limits_from` decide, or the topic is internal
    (`policy.rule` says which). A value that looks like another unit has a `unit_hint`, even if it is
    accepted. `repaired_ms` is the new timestamp if the rule repairs the record. With `is_extended`, the
    record was read as KIP-228 proposed.
    """

    policy: TopicPolicy
    rule: Rule | None
    waiver: Waiver | None
    rejection: Reject | None
    candidate: Reject | None
    unit_hint: str | None
    repaired_ms: int | None
    is_extended: bool
    failures: tuple[str, ...]
    """The custom rules that failed, each with its error and line of code."""
    by_others: "tuple[Explanation, ...]" = ()
    """The same by other limits that the topic may have, if its own ones are not known."""

    @property
    def is_forwarded(self) -> bool:
        is_rejected = self.rejection is not None and self.policy.mode is Mode.ENFORCE
        return not is_rejected or self.repaired_ms is not None

    @property
    def is_certain(self) -> bool:
        """False if it depends on limits of the topic that are not known what becomes of the record."""
        fates = {(answer.is_forwarded, answer.repaired_ms) for answer in (self, *self.by_others)}
        return len(fates) == 1

    @property
    def unknown_limits(self) -> tuple[str, ...]:
        """The limits in force that depend on limits of the topic that are not known: `before`, `after`.
        None is in force without a verdict."""
        if self.policy.mode is Mode.OFF:
            return ()
        every = [answer.policy.limits or TopicLimits() for answer in (self, *self.by_others)]
        bounds = {
            "before": {limits.before_max_ms for limits in every},
            "after": {limits.after_max_ms for limits in every},
        }
        return tuple(name for name, values in bounds.items() if len(values) > 1)

    @property
    def is_candidate_asked(self) -> bool:
        return (
            self.policy.candidate is not None and self.rejection is None and self.policy.mode is not Mode.OFF
        )


def explain(
    policy: Policy,
    peer: Peer,
    topic: str,
    timestamp_ms: int,
    *,
    now_ms: int,
    known: TopicLimits | None,
    on_kafka_4: TopicLimits | None,
    has_bit_6: bool = False,
) -> Explanation:
    """The explanation for one record. `known` are the topic's own limits, or None, as for `resolve`. With
    `has_bit_6`, the record's batch has attribute bit 6, and the rule may read the timestamp as KIP-228
    proposed."""
    of_client = ClientPolicy(policy, peer)
    topic_policy = of_client.resolve(topic, known, on_kafka_4, now_ms)

    def context_with(time_ms: int, attributes: int) -> BatchContext:
        return batch_of_times(
            [time_ms],
            topic,
            0,
            peer,
            policy=topic_policy,
            now_ms=now_ms,
            attributes=attributes,
        )

    context = context_with(timestamp_ms, DELETE_HORIZON if has_bit_6 else 0)
    is_judged = topic_policy.mode is not Mode.OFF
    verdict, repaired_ms = judge(context) if is_judged else ACCEPT, None
    if (repair := repair_of(context, verdict)) is not None:
        (time_ms,) = repair.times_ms
        # As the session judges what it has written: without bit 6 if the rule has read the bit.
        again = judge(context_with(time_ms, 0 if context.is_extended else context.batch.attributes))
        if isinstance(again, Reject):
            verdict = again
        elif repair.changed:
            repaired_ms = time_ms
    rejection = verdict if isinstance(verdict, Reject) else None
    candidate = judge_candidate(context) if is_judged and rejection is None else None
    return Explanation(
        policy=topic_policy,
        rule=of_client.first_rule(topic),
        waiver=of_client.active_waiver(topic, now_ms) if topic_policy.waiver else None,
        rejection=rejection,
        candidate=candidate,
        unit_hint=unit_hint(timestamp_ms, now_ms),
        repaired_ms=repaired_ms,
        is_extended=context.is_extended,
        failures=tuple(f"{answer.rule.name}: {answer.failure}" for answer in context.failures),
    )
