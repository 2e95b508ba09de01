"""Long names: each is tried once for each client or topic, and no name is tried that no topic can have.

A client may not leave a stricter rule by a longer name.
"""

import re
from fnmatch import translate

import pytest

from tsproxy.config.patterns import name_pattern
from tsproxy.model.names import NAME_CHARS, CutName, digest_of, kept_name
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import TOPIC_LIMITS, Match, Mode, NamePattern, Policy, Rule, RuleSettings, Waiver
from tsproxy.policy.resolve import ClientPolicy, resolve

NOW_MS = 1_767_225_600_000
LONG = "app-" + "x" * 32_000


class Counting:
    """A compiled pattern that counts the characters that it was shown."""

    def __init__(self, text):
        self.regex = re.compile(translate(text))
        self.tries = self.characters = 0

    def fullmatch(self, name):
        self.tries += 1
        self.characters += len(name)
        return self.regex.fullmatch(name)


def counting(text):
    return NamePattern(text, Counting(text))


def a_rule(name="own", mode=None, **match):
    return Rule(name, Match(**match), RuleSettings(mode=mode))


def rule_of(policy, topic="orders", **names):
    return resolve(policy, Peer("public", "10.1.2.3", 1, **names), topic, None, None, NOW_MS).rule


@pytest.mark.parametrize("field", ["client_ids", "client_software", "principals"])
def test_the_names_of_a_client_are_tried_once_however_many_topics_it_names(field):
    patterns = [counting("*-team7-*") for _ in range(30)]
    rules = [a_rule(**{field: (pattern,), "topics": (name_pattern("*"),)}) for pattern in patterns[:20]]
    waivers = [Waiver("w", Match(**{field: (each,)}), NOW_MS + 1, "o", "r") for each in patterns[20:]]
    peer = Peer("public", "10.1.2.3", 1, LONG, LONG, LONG)
    client = ClientPolicy(Policy(rules=tuple(rules), waivers=tuple(waivers)), peer)
    for n in range(476):
        client.resolve(f"t{n}", None, None, NOW_MS)
    assert [pattern.regex.tries for pattern in patterns] == [1] * 30


@pytest.mark.parametrize("field", ["client_ids", "client_software"])
def test_the_first_characters_of_a_name_that_clients_choose_are_tried(field):
    pattern = counting("*-team7-*")
    names = {"client_id": LONG, "client_software": LONG}
    rule_of(Policy(rules=(a_rule(**{field: (pattern,)}),)), **names)
    assert (pattern.regex.tries, pattern.regex.characters) == (1, NAME_CHARS)


@pytest.mark.parametrize(
    "topic", ["t" * 250, "t" * 32_000, "", ".", "..", "a topic", "t\n", "t\udc80", "id:" + "A" * 22]
)
def test_no_pattern_is_tried_for_a_name_that_no_topic_has(topic):
    pattern = counting("*")
    waiver = Waiver("w", Match(topics=(pattern,)), NOW_MS + 1, "o", "r")
    policy = Policy(rules=(a_rule(topics=(pattern,)),), waivers=(waiver,))
    assert rule_of(policy, topic) == TOPIC_LIMITS
    assert pattern.regex.tries == 0


def test_a_rule_for_any_topic_holds_for_a_name_that_no_topic_has():
    policy = Policy(rules=(a_rule(client_ids=(name_pattern("app"),)),))
    assert rule_of(policy, "t" * 250, client_id="app") == "own"


@pytest.mark.parametrize("text", ["*", "app-*", "app*x*", "/app.*/", "/.*/", "app-" + "x" * (NAME_CHARS - 4)])
@pytest.mark.parametrize("field", ["client_ids", "client_software"])
def test_a_client_cannot_leave_a_rule_by_a_longer_name(field, text):
    """Its first characters alone would be judged by the rule."""
    strict = a_rule("strict", Mode.ENFORCE, **{field: (name_pattern(text),)})
    policy = Policy(mode=Mode.AUDIT, rules=(strict,))
    for name in (LONG[:NAME_CHARS], LONG[: NAME_CHARS + 1], LONG, kept_name(LONG)):
        assert rule_of(policy, client_id=name, client_software=name) == "strict"


def test_a_longer_name_allows_nothing_that_its_first_characters_do_not_allow():
    patterns = ["*-eu", "*…*", "*" + digest_of(LONG), "app-" + "x" * 300 + "*"]
    rules = tuple(a_rule("loose", Mode.OFF, client_ids=(name_pattern(each),)) for each in patterns)
    for name in (LONG + "-eu", LONG, kept_name(LONG)):
        assert rule_of(Policy(rules=rules), client_id=name) == TOPIC_LIMITS


def test_all_of_a_principal_is_compared():
    """A broker or a certificate has proven it: its beginning may be another principal."""
    trusted = "User:CN=app," + "OU=x," * 60
    policy = Policy(rules=(a_rule("loose", Mode.OFF, principals=(name_pattern(trusted),)),))
    assert rule_of(policy, principal=trusted) == "loose"
    assert rule_of(policy, principal=trusted + "O=stranger") == TOPIC_LIMITS


def test_a_long_name_is_cut_and_stays_different_from_all_others():
    kept = kept_name(LONG)
    assert isinstance(kept, CutName)
    assert len(kept) == NAME_CHARS + 13
    assert kept != kept_name(LONG + "x") != kept_name(LONG[:-1])
    assert kept_name(str(kept)) != kept, "a client that sends the cut name is another client"
    assert kept_name(LONG[:NAME_CHARS]) == LONG[:NAME_CHARS]
