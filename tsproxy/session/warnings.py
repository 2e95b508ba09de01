"""What an operator is warned of, beside what becomes of a batch: `far_ahead`, `rule_failed`, `sasl_failed`.

The shell writes no more of these for one client than an operator can read (`runtime.notes`).
"""

from typing import Final

from tsproxy.model.custom_rule import RuleAnswer
from tsproxy.model.policy import CANDIDATE
from tsproxy.session.effects import Note
from tsproxy.session.produce.judge_request import RequestVerdict
from tsproxy.session.produce.verdicts import PartitionVerdict
from tsproxy.session.sasl import SaslFailure

RECORD_FAR_AHEAD: Final = "record_far_ahead"
RULE_FAILED: Final = "rule_failed"
SASL_FAILED: Final = "sasl_failed"
WARNINGS: Final = frozenset({RECORD_FAR_AHEAD, RULE_FAILED})
"""Those that say nothing of why a session ends."""


def is_far_ahead(judged: PartitionVerdict, now_ms: int) -> bool:
    """True for a batch with a record further ahead than the candidate limits allow: by default an hour."""
    candidate, latest_ms = judged.policy.candidate, judged.batch.max_timestamp_ms
    if judged.would_rule != CANDIDATE or candidate is None or latest_ms is None:
        return False
    return candidate.after_max_ms is not None and latest_ms - now_ms > candidate.after_max_ms


def far_ahead(ruling: RequestVerdict, judged: PartitionVerdict) -> Note:
    """The warning that KIP-937 promised: "we will add a WARN-level log when we encounter messages with
    future timestamps that are ahead of the proposed one-hour threshold". No broker ever did."""
    would, candidate = judged.would, judged.policy.candidate
    latest_ms = judged.batch.max_timestamp_ms
    assert would is not None
    assert candidate is not None
    assert latest_ms is not None
    return Note(
        RECORD_FAR_AHEAD,
        {
            "topic": judged.topic,
            "partition": judged.partition,
            "client_id": ruling.peer.client_id,
            "ahead_ms": latest_ms - ruling.now_ms,
            "candidate_after_max_ms": candidate.after_max_ms,
            "bad_records": would.bad_records,
            "unit_guess": would.unit_guess,
        },
    )


def rule_failed(ruling: RequestVerdict, judged: PartitionVerdict, failed: RuleAnswer) -> Note:
    """A custom rule raised, or answered what no rule may."""
    rule = failed.rule
    facts = {
        "rule": judged.policy.rule,
        "name": rule.name,
        "error": failed.failure,
        "fail": rule.fail.value,
        "topic": judged.topic,
        "client_id": ruling.peer.client_id,
    }
    return Note(RULE_FAILED, facts)


def sasl_failed(failure: SaslFailure) -> Note:
    """A login that the broker did not accept. Nothing of the exchange is told, the name included: people
    type passwords where names are due."""
    return Note(SASL_FAILED, {"mechanism": failure.mechanism, "error": failure.error})
