"""`tsproxy explain`: what it says is what the judge does, in the words of the document."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from tests.config.files import SMALLEST
from tests.e2e.test_policy import CUSTOM_RULE, DOCUMENT, EXAMPLES, install
from tsproxy.cli import main
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import Match, Policy, Rule, RuleSettings
from tsproxy.offline.explain import as_json as explanation_as_json
from tsproxy.offline.explain import as_text
from tsproxy.policy.explain import explain

NOW = "2026-12-01T00:00:00Z"
NOW_MS = 1_796_083_200_000
SHOWN = re.findall(r"^```\n\$ (tsproxy explain .*?)\n(.*?)^```$", DOCUMENT, re.M | re.S)


@pytest.fixture
def explained(tmp_path, monkeypatch, capsys):
    """The output of a command about an example of the document: a policy, and no cluster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, CUSTOM_RULE)

    def explain(*arguments, policy=EXAMPLES["Modes"]):
        (tmp_path / "tsproxy.yaml").write_text(policy)
        assert main(["explain", "--config", "tsproxy.yaml", "--now", NOW, *arguments]) == 0
        return capsys.readouterr().out

    return explain


def as_json(explained, *arguments, **more):
    return json.loads(explained("--json", *arguments, **more))


@pytest.mark.parametrize(("command", "said"), SHOWN)
def test_the_document_shows_what_it_says(explained, command, said):
    assert explained(*shlex.split(command)[4:]) == said


def test_one_is_shown():
    assert len(SHOWN) == 1


def test_a_locale_without_the_signs_of_an_answer_still_shows_it(tmp_path):
    policy = "policy: { rules: [{ name: recent, message.timestamp.before.max.ms: 1h }] }\n"
    (tmp_path / "tsproxy.yaml").write_text(SMALLEST + policy)
    command = [sys.executable, "-m", "tsproxy", "explain", "--config", "tsproxy.yaml"]
    command += ["--topic", "orders", "--timestamp", "0"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b", ?]" in done.stdout  # a limit that is not known


def test_who_sends_decides_which_rule(explained):
    asked = ("--topic", "payments-eu", "--timestamp", str(NOW_MS + 11_000))
    found = as_json(explained, *asked)
    assert (found["forwarded"], found["rule"], found["mode"]) == (False, "payments", "enforce")
    found = as_json(explained, *asked, "--principal", "User:archive")
    assert (found["forwarded"], found["rule"], found["rejection"]) == (True, "archive", None)
    assert as_json(explained, *asked, "--client-id", "archive")["rule"] == "payments"


def test_what_is_put_right_is_forwarded_with_the_time_it_gets(explained):
    asked = ("--topic", "sensors-1", "--timestamp", str((NOW_MS - 5) * 1_000))
    found = as_json(explained, *asked, policy=EXAMPLES["Repair"])
    assert (found["forwarded"], found["mended_ms"]) == (True, NOW_MS - 5)
    assert found["rejection"]["reason"] == "too_far_ahead"
    assert f"repaired, and forwarded as {NOW_MS - 5}, " in explained(*asked, policy=EXAMPLES["Repair"])


def test_what_cannot_be_put_right_is_rejected_as_ever(explained):
    asked = ("--topic", "sensors-1", "--timestamp", str(NOW_MS + 7_200_000))
    found = as_json(explained, *asked, policy=EXAMPLES["Repair"])
    assert (found["forwarded"], found["mended_ms"]) == (False, None)


def test_a_time_in_a_batch_with_bit_6_is_read_as_its_rule_says(explained):
    def of(timestamp, *more, policy=EXAMPLES["Timestamps before 1970"]):
        return ("--topic", "archive-1", "--timestamp", timestamp, *more), policy

    asked, policy = of("-1", "--bit-6")
    found = as_json(explained, *asked, policy=policy)
    assert (found["forwarded"], found["extended"], found["rejection"]["reason"]) == (False, True, "negative")
    assert "Consider shifting it by one millisecond" in found["rejection"]["text"]
    asked, policy = of("-9223372036854775808", "--bit-6")
    assert "says that there is none (KIP-228)" in explained(*asked, policy=policy)
    assert "forwarded in brokers' own reading, with bit 6 cleared" in explained(*asked, policy=policy)
    asked, policy = of("-1")
    assert "-1 says that there is none (KIP-32)" in explained(*asked, policy=policy)
    asked, policy = of("5", "--bit-6", policy="policy: {}")
    assert not as_json(explained, *asked, policy=policy)["forwarded"]


def test_audit_forwards_and_says_what_it_counts(explained):
    found = as_json(explained, "--topic", "orders", "--timestamp", str(NOW_MS + 7_200_000))
    assert found["forwarded"]
    assert (found["mode"], found["rejection"]["reason"]) == ("audit", "too_far_ahead")


@pytest.mark.parametrize("limits_from", ["broker", "config", "stricter"])
def test_without_a_rule_it_says_which_key_names_the_limits(explained, limits_from):
    policy = f"policy: {{ limits_from: {limits_from} }}"
    said = explained("--topic", "orders", "--timestamp", "0", policy=policy)
    assert "rule       none; the limits that policy.limits_from names decide\n" in said


def test_a_topics_limits_that_nobody_says_are_left_to_the_broker(explained):
    asked = ("--topic", "orders", "--timestamp", "0")
    assert "unknown (no broker was asked)" in explained(*asked, policy="policy: {}")
    found = as_json(explained, *asked, "--before", "7d", policy="policy: {}")
    assert (found["forwarded"], found["rejection"]["reason"]) == (False, "too_old")
    assert as_json(explained, *asked, policy="policy: {}")["forwarded"] is None


ONE_SIDE = (
    "policy: { rules: [{ name: old, match: { topics: [orders] }, message.timestamp.before.max.ms: 12h }] }"
)
UNLESS = "forwarded, unless the topic's own limits say otherwise"


@pytest.mark.parametrize(
    ("policy", "more", "limits", "fate"),
    [
        (ONE_SIDE, (), "12 h behind, unknown ahead (the topic's own; pass --after)", UNLESS),
        (ONE_SIDE, ("--after", "3h"), "12 h behind, 3 h ahead", "forwarded"),
        (
            "policy: {}",
            ("--before", "1d"),
            "1 day behind, unknown ahead (the topic's own; pass --after)",
            UNLESS,
        ),
        (
            "policy: { limits_from: stricter, defaults: { message.timestamp.after.max.ms: 3h } }",
            (),
            "unknown behind (the topic's own; pass --before), 3 h ahead (or the topic's own; pass --after)",
            UNLESS,
        ),
        ("policy: {}", (), "unknown (no broker was asked); pass --before and --after", UNLESS),
    ],
)
def test_a_limit_that_only_the_topic_knows_is_unknown(explained, policy, more, limits, fate):
    """The record is two hours ahead. The topic's own limit may reject it."""
    asked = ("--topic", "orders", "--timestamp", str(NOW_MS + 7_200_000), *more)
    said = explained(*asked, policy=policy)
    assert (f"limits     {limits}\n" in said, f"fate       {fate}\n" in said) == (True, True)
    found = as_json(explained, *asked, policy=policy)
    assert (found["limits_known"], found["limits_unknown"] == []) == (fate != UNLESS,) * 2


def test_no_limit_is_unknown_where_none_is_asked_for(explained):
    policy = "policy: { mode: 'off', limits_from: config }"
    found = as_json(explained, "--topic", "orders", "--timestamp", "0", policy=policy)
    assert (found["forwarded"], found["limits_known"], found["limits_unknown"]) == (True, True, [])


def test_a_bound_that_only_the_topic_knows_is_in_no_text(explained):
    asked = ("--topic", "orders", "--timestamp", str(NOW_MS - 13 * 3_600_000))
    said = explained(*asked, policy=ONE_SIDE)
    assert f"should be within [{NOW_MS - 12 * 3_600_000}, …]" in said
    assert "fate       rejected\n" in said


@pytest.mark.parametrize("timestamp", ["-1", "0", "-9223372036854775808", "9223372036854775807"])
def test_any_long_has_an_explanation(explained, timestamp):
    for policy in EXAMPLES.values():
        assert explained("--topic", "orders", "--timestamp", timestamp, policy=policy)
        assert as_json(explained, "--topic", "orders", "--timestamp", timestamp, policy=policy)


def test_a_waiver_is_named_with_its_end(explained):
    asked = ("--topic", "backfill-orders", "--timestamp", "5")
    said = explained(*asked, policy=EXAMPLES["Waivers"])
    assert re.search(r"^waiver +backfill \(tsproxy\.yaml:\d+: policy\.waivers\[0\]\), until 2199", said, re.M)
    assert "fate       forwarded, and counted as what would be rejected" in said


@pytest.mark.parametrize("timestamp", ["2026-11-01T00:00:00Z", "2026-11-01"])
def test_it_needs_no_file_and_reads_instants_and_dates(capsys, timestamp):
    asked = ["explain", "--topic", "orders", "--timestamp", timestamp, "--before", "7d"]
    assert main([*asked, "--now", NOW]) == 0
    shown = capsys.readouterr().out
    assert f"time       {NOW_MS - 30 * 86_400_000} is 2026-11-01 00:00:00 UTC" in shown
    assert "reason     too_old, error code 32" in shown


class Fails:
    def culprits(self, timestamps_ms, context):
        raise LookupError(context.topic)


@pytest.mark.parametrize(
    ("hours", "policy", "is_asked", "reason"),
    [
        (0, "", True, None),
        (2, "", True, "too_far_ahead"),
        (-1000, "", False, None),
        (2, "mode: 'off', ", False, None),
    ],
)
def test_the_candidate_is_asked_only_about_a_time_that_is_accepted(
    explained, hours, policy, is_asked, reason
):
    """Without a rejection by it, a timestamp may be accepted by it, or it was not asked: JSON says which."""
    timestamp = str(NOW_MS + hours * 3_600_000)
    asked = ("--topic", "orders", "--before", "7d", "--after", "2d", "--timestamp", timestamp)
    policy = f"policy: {{ {policy}candidate: {{ message.timestamp.after.max.ms: 1h }} }}"
    said = re.findall("^candidate .*: would be (accepted|rejected)$", explained(*asked, policy=policy), re.M)
    assert said == (["rejected" if reason else "accepted"] if is_asked else [])
    found = as_json(explained, *asked, policy=policy)
    by_candidate = found["candidate_rejection"]
    assert (found["candidate_asked"], by_candidate and by_candidate["reason"]) == (is_asked, reason)


@pytest.mark.parametrize(
    ("days", "said"), [(8, "would be rejected"), (3_651, "counted as far behind, rejected by nothing")]
)
def test_an_old_time_is_far_behind_only_beyond_ten_years(explained, days, said):
    """A candidate may have a limit of its own for old records, and would reject records that are right."""
    timestamp = str(NOW_MS - days * 86_400_000)
    asked = ("--topic", "orders", "--before", "unlimited", "--after", "1h", "--timestamp", timestamp)
    told = explained(*asked, policy="policy: { candidate: { message.timestamp.before.max.ms: 7d } }")
    assert re.findall("^candidate .*: (.*)$", told, re.M) == [said]


class NamesNumbers:
    def culprits(self, timestamps_ms, context):
        return [(0, 424242)]


class NamesNoPairs:
    def culprits(self, timestamps_ms, context):
        return [424242]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (NamesNoPairs(), "TypeError in its answer"),
        (Fails(), f"LookupError at test_explain.py:{Fails.culprits.__code__.co_firstlineno + 1}"),
        (NamesNumbers(), "the text of record 0 is of type int, not str"),
    ],
)
def test_a_rule_that_fails_is_named_with_its_line_of_code_or_its_text(rule, said):
    rules = (Rule("mine", Match(), RuleSettings(custom_rules=(CustomRule("in-order", rule),))),)
    peer = Peer("", "127.0.0.1", 0, None)
    found = explain(Policy(rules=rules), peer, "t", NOW_MS, now_ms=NOW_MS, known=None, on_kafka_4=None)
    told = as_text(found, NOW_MS, NOW_MS)
    assert f"failed     in-order: {said}" in told
    assert explanation_as_json(found)["failed_rules"] == [f"in-order: {said}"]
    assert "424242" not in told + json.dumps(explanation_as_json(found))
