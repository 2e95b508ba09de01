"""The verdict that the candidate limits would give: `judge_candidate`.

What proves a batch innocent of the limits in force, the lowest and the highest of its times, proves it
innocent of these as well: its records are read again only where it is not, to count and name them.
"""

from dataclasses import replace

from tsproxy.model.policy import TopicPolicy
from tsproxy.model.verdict import Reject
from tsproxy.policy import record_checks, timestamps
from tsproxy.policy.case import Case


def judge_candidate(case: Case) -> Reject | None:
    """Of a batch that is let pass: None where there is no candidate, or where it would let it pass too.

    All but times is left aside: what is wrong besides is no news of these limits.
    """
    limits = case.policy.candidate
    if limits is None or not case.record_set.batches:
        return None
    bounds = timestamps.bounds(limits, case.now_ms)
    assert bounds is not None, "a candidate limits something"
    for one in case.each_batch():
        facts = one.facts
        if facts is None or facts.fault or facts.lowest_ms is None or facts.highest_ms is None:
            continue
        if facts.lowest_ms < bounds.lowest or facts.highest_ms > bounds.highest:
            only_times = replace(limits, is_compacted=False)
            return record_checks.each_record_is_valid(replace(one, limits=only_times, policy=TopicPolicy()))
    return None
