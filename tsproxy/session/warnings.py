"""The warnings of a session beside its verdicts: `far_ahead` and `rule_failed`.

The shell limits how many of these warnings it logs for one client address (`proxy.notes`).
"""

from tsproxy.model.custom_rule import RuleAnswer
from tsproxy.model.policy import CANDIDATE
from tsproxy.session.effects import Warn, WarningName
from tsproxy.session.verdict import PartitionVerdict, RequestVerdict


def is_far_ahead(partition: PartitionVerdict, now_ms: int) -> bool:
    """True for a batch with a record further ahead than the candidate limits allow: by default an hour."""
    candidate, latest_ms = partition.policy.candidate, partition.batch.max_timestamp_ms
    if partition.would_rule != CANDIDATE or candidate is None or latest_ms is None:
        return False
    return candidate.after_max_ms is not None and latest_ms - now_ms > candidate.after_max_ms


def far_ahead(verdict: RequestVerdict, partition: PartitionVerdict) -> Warn:
    """The warning that KIP-937 promised: "we will add a WARN-level log when we encounter messages with future
    timestamps that are ahead of the proposed one-hour threshold". No broker has ever logged it."""
    would, candidate = partition.would, partition.policy.candidate
    latest_ms = partition.batch.max_timestamp_ms
    assert would is not None
    assert candidate is not None
    assert latest_ms is not None
    return Warn(
        WarningName.RECORD_FAR_AHEAD,
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "client_id": verdict.peer.client_id,
            "ahead_ms": latest_ms - verdict.now_ms,
            "candidate_after_max_ms": candidate.after_max_ms,
            "bad_records": would.bad_records,
            "unit_guess": would.unit_guess,
        },
    )


def rule_failed(verdict: RequestVerdict, partition: PartitionVerdict, failed: RuleAnswer) -> Warn:
    """The warning that a custom rule raised an exception, or returned something that no rule may return."""
    rule = failed.rule
    facts = {
        "rule": partition.policy.rule,
        "name": rule.name,
        "error": failed.failure,
        "fail": rule.fail.value,
        "topic": partition.topic,
        "client_id": verdict.peer.client_id,
    }
    return Warn(WarningName.RULE_FAILED, facts)
