"""The cost of finding the rules for names that clients choose, with hundreds of rules.

The tries of patterns are counted, not milliseconds. Expensive searches are made beside the loop.
"""

import pytest

from tests.policy.test_long_names import Counting
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.model.names import NAME_CHARS
from tsproxy.model.policy import Match, NamePattern, Policy, Rule, RuleSettings
from tsproxy.session.effects import Judge
from tsproxy.session.produce import cost

GOOD = batch([NOW_MS])
LONG_ID = "team7" * 6_540


def rules_with(**patterns):
    match = Match(**{field: (pattern,) for field, pattern in patterns.items()})
    return Rule("own", match, RuleSettings())


def glob(text):
    return NamePattern(text, Counting(text))


def regex(text):
    return NamePattern(text, Counting(text), NAME_CHARS)


def session_with(*rules):
    return Session(PEER, view_of(policy=Policy(rules=rules)), uses_fast_path=True)


def steps_here(session, request, *patterns):
    """(the steps of all tries on the loop, whether a thread was asked)."""
    before = [pattern.regex.tries for pattern in patterns]
    effects = session.client_bytes(request, NOW_MS)
    tried = [pattern.regex.tries - n for pattern, n in zip(patterns, before, strict=True)]
    steps = sum(n * pattern.steps for n, pattern in zip(tried, patterns, strict=True))
    return steps, any(isinstance(each, Judge) for each in effects)


def test_a_long_client_id_is_not_tried_for_each_topic():
    """A request of 77 KB took 5 s: 30 rules, 476 topics, and 32 KB of client id for each pair."""
    patterns = [glob("*-team7-*") for _ in range(30)]
    one = session_with(*(rules_with(client_ids=each) for each in patterns))
    asked = produce({f"t{n}": {0: GOOD} for n in range(400)}, client_id=LONG_ID)
    effects = one.client_bytes(asked, NOW_MS)
    for effect in effects:
        if isinstance(effect, Judge):
            one.judged(effect.job(), NOW_MS)
    assert [pattern.regex.characters for pattern in patterns] == [NAME_CHARS] * 30


@pytest.mark.parametrize("topics", [1, 400])
@pytest.mark.parametrize("field", ["topics", "client_ids"])
def test_a_long_search_for_one_request_is_made_beside_the_loop(topics, field):
    """100 new topics, or a new client id in each request, took 170 ms a MiB with 300 rules."""
    patterns = [glob(f"*-{n}-*") for n in range(300)]
    one = session_with(*(rules_with(**{field: each}) for each in patterns))
    asked = produce({f"{n}-" + "-" * 200: {0: GOOD} for n in range(topics)}, client_id="-" * 200)
    assert steps_here(one, asked, *patterns) == (0, True)


FEW = range(20)
"""So few globs are tried on the event loop for one request."""


@pytest.mark.parametrize(
    ("patterns", "field", "asked"),
    [
        ([glob(f"*-{n}-*") for n in FEW], "topics", [{"topic": f"{n}-"} for n in range(1_000)]),
        ([glob(f"*-{n}-*") for n in FEW], "client_ids", [{"client_id": f"c{n}"} for n in range(1_000)]),
        # They cost more than globs.
        ([regex(f"*-{n}-*") for n in FEW[::2]], "topics", [{"topic": f"{n}-"} for n in range(400)]),
    ],
    ids=["few topics", "a new client id", "regular expressions"],
)
def test_the_searches_of_many_requests_are_counted_together(patterns, field, asked):
    one = session_with(*(rules_with(**{field: each}) for each in patterns))
    frames = [
        produce({each.get("topic", "t"): {0: GOOD}}, correlation_id=n, client_id=each.get("client_id", "app"))
        for n, each in enumerate(asked)
    ]
    steps, is_beside = steps_here(one, b"".join(frames), *patterns)
    assert is_beside
    assert 0 < steps <= cost.OFFLOAD_RECORDS * cost.STEPS_A_RECORD


def test_after_a_thread_has_found_the_rules_nothing_is_tried_on_the_loop():
    pattern = glob("*-none-*")
    one = session_with(rules_with(topics=pattern))
    asked = produce({f"t{n}": {0: batch([0])} for n in range(600)})
    (judge, *_) = one.client_bytes(asked, NOW_MS)
    judgement, tried = judge.job(), pattern.regex.tries
    one.judged(judgement, NOW_MS)
    assert pattern.regex.tries == tried
