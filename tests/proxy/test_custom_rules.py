"""Custom rules in a running proxy: measured, and loaded once."""

import sys
from dataclasses import replace

import pytest
import structlog

from tests.config.files import SMALLEST, config_of
from tests.e2e.test_policy import CUSTOM_RULE
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


def policy_of(rule):
    return Policy(rules=(Rule("odd", Match(), RuleSettings(custom_rules=(CustomRule("own", rule),))),))


def configured(rule):
    return replace(config_of(SMALLEST), policy=policy_of(rule))


def timed(watch, rule):
    [wrapped] = watch.timed(policy_of(rule)).rules[0].settings.custom_rules
    return wrapped


@pytest.fixture
def watch():
    return CustomRuleWatch(configured(Odd()))


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


def test_changed_code_is_reported_at_a_reload_and_stays_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "rule_on_disk.py"
    file.write_text(CUSTOM_RULE)
    monkeypatch.syspath_prepend(tmp_path)
    config = configured(__import__("rule_on_disk").InOrder())
    watch = CustomRuleWatch(config)
    assert logged(lambda: watch.apply(config)) == []
    file.write_text(CUSTOM_RULE + "# new")
    [line] = logged(lambda: watch.apply(config))
    assert (line["event"], line["name"], line["file"]) == ("rule_code_changed", "own", str(file))
    file.unlink()
    assert logged(lambda: watch.apply(config)) == []
    del sys.modules["rule_on_disk"]
