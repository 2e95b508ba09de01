"""Custom rules in a running proxy are measured."""

import pytest
import structlog

from tsproxy.model.custom_rule import CustomRule, OnError
from tsproxy.model.policy import Match, Policy, Rule, RuleSettings
from tsproxy.policy.custom_rules import bounds_of, consult
from tsproxy.proxy.custom_rules import SLOW_S, CustomRuleWatch
from tsproxy.testing.rules import NOW_MS, rule_context


class Odd:
    reason = "missing"

    def bounds(self):
        return 0, 5

    def culprits(self, timestamps_ms, context):
        if not timestamps_ms:
            raise LookupError
        yield 0, "odd"


def timed(watch, rule):
    own = Rule("odd", Match(), RuleSettings(custom_rules=(CustomRule("own", rule),)))
    [wrapped] = watch.timed(Policy(rules=(own,))).rules[0].settings.custom_rules
    return wrapped


@pytest.fixture
def watch():
    return CustomRuleWatch()


def logged(call, *arguments):
    with structlog.testing.capture_logs() as lines:
        call(*arguments)
    return lines


def count_of(watch):
    [family] = watch.histogram.collect()
    return {
        tuple(each.labels.values()): each.value for each in family.samples if each.name.endswith("_count")
    }


def test_a_measured_rule_answers_as_before(watch):
    own, wrapped = CustomRule("own", Odd()), timed(watch, Odd())
    for times in ([NOW_MS, 1], []):
        assert consult(wrapped, times, rule_context()) == consult(own, times, rule_context())
    assert (wrapped.reason, bounds_of(wrapped)) == (own.reason, (0, 5))
    assert count_of(watch) == {("own",): 2}


def test_each_rule_is_measured_and_fails_as_the_file_says(watch):
    """A batch that a rule cannot judge would pass where the file rejects it."""
    rules = [
        Rule(name, Match(), RuleSettings(custom_rules=(CustomRule(name, Odd(), fail),)))
        for name, fail in (("open", OnError.OPEN), ("closed", OnError.CLOSED))
    ]
    found = [rule.settings.custom_rules[0] for rule in watch.timed(Policy(rules=(*rules,))).rules]
    answers = [consult(each, [], rule_context()) for each in found]
    assert [(each.rule.name, each.rejects) for each in answers] == [("open", False), ("closed", True)]
    assert count_of(watch) == {("open",): 1, ("closed",): 1}


def test_a_policy_without_custom_rules_is_the_same_object(watch):
    policy = Policy()
    assert watch.timed(policy) is policy


def test_a_rule_is_slow_by_its_mean(watch):
    for seconds in (3 * SLOW_S, SLOW_S):
        watch.called("own", seconds)
    for _ in range(3):
        watch.called("quick", SLOW_S / 2)
    [line] = logged(watch.log_slow)
    assert (line["event"], line["name"], line["batches"]) == ("rule_slow", "own", 2)
    assert (line["mean_ms"], line["longest_ms"]) == (2.0, 3.0)
    assert logged(watch.log_slow) == []
