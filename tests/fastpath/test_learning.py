"""The fast path forwards only batches on which no rule has an effect.

The table's row is made as a session makes it (`fast_path_bounds`), from limits, the candidate's, and rules
with and without bounds; the judge judges the same request.
"""

from dataclasses import replace
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tests.fastpath.conversations import BoundedOdd, RejectsOdd
from tests.fastpath.test_filters import Filters
from tests.session.conversation import DAY_MS, HOUR_MS, LIMITS, NOW_MS, PEER, view_of
from tests.session.messages import produce
from tests.wire.batches import GZIP, NONE, batch, wrap
from tsproxy import fastpath
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, TimestampType
from tsproxy.model.policy import Choice, Match, Mode, OnViolation, Policy, Rule, RuleSettings, TimeLimit
from tsproxy.model.verdict import Accept, TopicLimits
from tsproxy.model.view import SessionLimits
from tsproxy.policy.fast_path import fast_path_bounds
from tsproxy.session.fast_path import _read_compressed
from tsproxy.session.policies import Policies
from tsproxy.session.produce.judge_partitions import judge_all
from tsproxy.wire import k00_produce
from tsproxy.wire.headers import read_request_header

APP = replace(PEER, client_id="app")


def own(*rules):
    return tuple(CustomRule(type(rule).__name__, rule) for rule in rules)


SETTINGS = (
    RuleSettings(),
    RuleSettings(mode=Mode.AUDIT),
    RuleSettings(mode=Mode.OFF),
    RuleSettings(extended_timestamps=True),
    RuleSettings(extended_timestamps=True, after=TimeLimit(1_000)),
    RuleSettings(extended_timestamps=True, mode=Mode.AUDIT),
    RuleSettings(custom_rules=own(RejectsOdd())),
    RuleSettings(custom_rules=own(RejectsOdd()), mode=Mode.AUDIT),
    RuleSettings(custom_rules=own(BoundedOdd())),
    RuleSettings(custom_rules=own(BoundedOdd(), RejectsOdd())),
    RuleSettings(zero=Choice.REJECT),
    RuleSettings(no_timestamp=Choice.REJECT),
    RuleSettings(no_timestamp=Choice.STAMP),
    RuleSettings(on_violation=OnViolation.REPAIR),
)
CANDIDATES = (
    None,
    RuleSettings(after=TimeLimit(0)),
    RuleSettings(before=TimeLimit(0)),
    RuleSettings(before=TimeLimit(1_000), after=TimeLimit(1_000)),
)
KNOWN = (
    LIMITS,
    TopicLimits(),
    TopicLimits(after_max_ms=0),
    TopicLimits(TimestampType.LOG_APPEND_TIME, before_max_ms=5, after_max_ms=5),
)
OFFSETS_MS = (0, 0, 0, 1, -1, 999, 1_000, 1_001, -1_000, -1_001, HOUR_MS, HOUR_MS + 1, -DAY_MS, -DAY_MS - 1)
EDGES_MS = (-1, 0, -2, LONG_MIN, LONG_MAX, LONG_MIN + NOW_MS, LONG_MIN + NOW_MS + 1)
TIMES = st.lists(
    st.sampled_from(OFFSETS_MS).map(lambda offset: NOW_MS + offset) | st.sampled_from(EDGES_MS),
    min_size=1,
    max_size=4,
)


def is_forwarded(asked, policies):
    policy = policies.of("t", NOW_MS)
    span = fast_path_bounds(policy)
    if span is None:
        return False
    table = fastpath.Table(APP, None, 1_000, partial(_read_compressed, SessionLimits()))
    table.add("t", policy.limits, span.before_max_ms, span.after_max_ms)
    filters = Filters()
    filters.requests.table = table
    return filters.passes(asked) == len(asked)


def judged(asked, policies):
    payload = memoryview(asked)[4:]
    header = read_request_header(payload)
    request = k00_produce.read_request(header.api_version, payload[header.body_start :])
    (found,) = judge_all(header, request, policies.view, NOW_MS, policies)
    return found


def has_no_effect(found):
    return found.verdict == Accept() and (found.would, found.rewritten) == (None, None) and not found.failed


def policies_of(settings, candidate, known):
    policy = Policy(candidate=candidate, rules=(Rule("own", Match(), settings),))
    return Policies(APP, replace(view_of(limits=known), policy=policy))


@given(
    settings=st.sampled_from(SETTINGS),
    candidate=st.sampled_from(CANDIDATES),
    known=st.sampled_from(KNOWN),
    times=TIMES,
    codec=st.sampled_from([NONE, NONE, GZIP]),
    attributes=st.sampled_from([0, 0, 0, 0x40, 0x08, 0x48]),
)
def test_no_rule_has_an_effect_on_what_is_forwarded(settings, candidate, known, times, codec, attributes):
    policies = policies_of(settings, candidate, known)
    asked = produce({"t": {0: batch([wrap(t) for t in times], codec, attributes=attributes)}})

    if is_forwarded(asked, policies):
        assert has_no_effect(judged(asked, policies))
        assert attributes == 0
