"""The bounds of the fast path are never wider than any limit that holds."""

from dataclasses import replace

import pytest

from tsproxy.model.custom_rule import CustomRule, OnError
from tsproxy.model.kafka import TimestampType
from tsproxy.model.policy import Choice, Inspect, Mode, OnViolation, TopicPolicy
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.fast_path import FastPathBounds, fast_path_bounds, may_stay_unread

LIMITS = TopicLimits(before_max_ms=5, after_max_ms=7)
KNOWN = TopicPolicy(limits=LIMITS)
ANY = FastPathBounds(None, None)


class Bounded:
    """A rule of an operator's own that says what it takes."""

    def __init__(self, *said):
        self.said = said

    def culprits(self, timestamps_ms, context):
        return ()

    def bounds(self):
        if not self.said:
            raise RuntimeError("no bounds")
        return self.said


class Unbounded:
    def culprits(self, timestamps_ms, context):
        return ()


def own(rule):
    return replace(KNOWN, custom_rules=(CustomRule("own", rule, OnError.OPEN),))


ROWS = {
    "the limits": (KNOWN, FastPathBounds(5, 7)),
    "in audit as well": (replace(KNOWN, mode=Mode.AUDIT), FastPathBounds(5, 7)),
    "one side": (replace(KNOWN, limits=TopicLimits(after_max_ms=7)), FastPathBounds(None, 7)),
    "no limits": (replace(KNOWN, limits=TopicLimits()), ANY),
    "the broker's own time": (
        replace(KNOWN, limits=replace(LIMITS, timestamp_type=TimestampType.LOG_APPEND_TIME)),
        ANY,
    ),
    "off": (replace(KNOWN, mode=Mode.OFF, limits=None, is_known=False), ANY),
    "a topic that is not known, with limits of the file": (replace(KNOWN, is_known=False), None),
    "limits that are not known": (replace(KNOWN, limits=None), None),
    "a candidate": (
        replace(KNOWN, candidate=TopicLimits(before_max_ms=9, after_max_ms=3)),
        FastPathBounds(5, 3),
    ),
    "a value rejected": (replace(KNOWN, zero=Choice.REJECT), None),
    "a repair": (replace(KNOWN, on_violation=OnViolation.REPAIR), None),
    "the other reading of bit 6": (replace(KNOWN, extended_timestamps=True), FastPathBounds(5, 7)),
    "under a waiver no more than after it": (
        replace(KNOWN, mode=Mode.AUDIT, until_ms=1),
        FastPathBounds(5, 7),
    ),
    "nor what will then be written anew": (
        replace(KNOWN, mode=Mode.AUDIT, until_ms=1, keep_both_times=True),
        None,
    ),
    "a rule of one's own": (own(Unbounded()), None),
    "with bounds": (own(Bounded(3, 8)), FastPathBounds(3, 7)),
    "with bounds on one side": (own(Bounded(None, 6)), FastPathBounds(5, 6)),
    "with bounds of 0": (own(Bounded(0, 0)), FastPathBounds(0, 0)),
    "with bounds that are none": (own(Bounded("1", 2)), None),
    "with bounds below 0": (own(Bounded(3, -1)), None),
    "with bounds that raise": (own(Bounded()), None),
}


@pytest.mark.parametrize(("policy", "passes"), ROWS.values(), ids=ROWS)
def test_what_passes(policy, passes):
    assert fast_path_bounds(policy) == passes


@pytest.mark.parametrize(
    ("policy", "may"),
    [
        (replace(KNOWN, inspect_compressed=Inspect.ADAPTIVE), True),
        (replace(KNOWN, inspect_compressed=Inspect.ADAPTIVE, dead_letters=True), False),
        (replace(KNOWN, inspect_compressed=Inspect.ALL), False),
    ],
    ids=["adaptive", "with copies of culprits", "all"],
)
def test_a_compressed_batch_may_stay_unread_only_where_no_culprit_is_copied(policy, may):
    assert may_stay_unread(policy) is may
