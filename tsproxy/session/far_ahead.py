"""What an operator is warned of while it is let pass: the warning that KIP-937 promised.

"To prepare users for this change in the future, we will add a WARN-level log when we encounter messages
with future timestamps that are ahead of the proposed one-hour threshold." No broker ever did. The shell
writes no more of these for one client than an operator can read (`runtime.notes`).
"""

from tsproxy.model.policy import CANDIDATE
from tsproxy.model.verdict import Reason
from tsproxy.session.effects import Note
from tsproxy.session.judging import Judged
from tsproxy.session.produce import Ruling


def is_far_ahead(judged: Judged) -> bool:
    """True for a batch with a record further ahead than the candidate limits allow: by default an hour."""
    would = judged.would
    return would is not None and judged.would_rule == CANDIDATE and would.reason is Reason.TOO_FAR_AHEAD


def far_ahead(ruling: Ruling, judged: Judged) -> Note:
    would, candidate = judged.would, judged.policy.candidate
    latest_ms = judged.batch.max_timestamp_ms
    assert would is not None
    assert candidate is not None
    assert latest_ms is not None
    return Note(
        "record_far_ahead",
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
