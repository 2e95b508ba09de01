"""An allowance for a client id alone is one for everybody who calls itself so."""

import pytest

from tests.config.files import SMALLEST, config_of
from tsproxy.policy.claimed import allowances

BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
CLAIM = "match: { client_ids: [etl] }"
SOFTWARE = "match: { client_software: [librdkafka/*] }"


def allowed(*rules, policy="mode: enforce"):
    """(rule, what it allows) of rules that are written without their names."""
    written = ", ".join(f"{{ name: r{index}, {rule} }}" for index, rule in enumerate(rules))
    config = config_of(f"{SMALLEST}policy: {{ {policy}, rules: [{written}] }}\n")
    return [(rule.name, what) for rule, what in allowances(config.policy)]


ALLOWANCES = {
    "mode off": ((f"{CLAIM}, mode: off",), "mode: off"),
    "audit": ((f"{CLAIM}, mode: audit",), "mode: audit"),
    "by library": ((f"{SOFTWARE}, mode: audit",), "mode: audit"),
    "no limit before a rule with one": ((f"{CLAIM}", f"{AFTER}: 10s"), "a wider limit after"),
    "a wider limit": ((f"{CLAIM}, {BEFORE}: 7d", f"{BEFORE}: 1d"), "a wider limit before"),
    "of some topics": ((f"{CLAIM}", f"match: {{ topics: [orders-*] }}, {AFTER}: 10s"), "a wider limit after"),
    "no value is rejected": ((f"{CLAIM}, zero: accept", "zero: reject"), "zero: accept"),
    "a jump": ((CLAIM, "max_jump_ahead: 10m"), "no stream-time-guard"),
}


@pytest.mark.parametrize(("rules", "what"), ALLOWANCES.values(), ids=ALLOWANCES)
def test_what_a_claim_alone_allows_is_named(rules, what):
    assert allowed(*rules) == [("r0", what)]


def test_a_wider_limit_than_the_files_own_is_an_allowance():
    policy = f"limits_from: config, defaults: {{ {AFTER}: 10m }}"
    assert allowed(f"{CLAIM}, {AFTER}: 1h", policy=policy) == [("r0", "a wider limit after")]
    assert allowed(f"{CLAIM}, {AFTER}: 5m", policy=policy) == []
    assert allowed(CLAIM, policy=policy) == []


def test_of_very_many_rules_not_all_are_compared(monkeypatch):
    compared = []
    monkeypatch.setattr("tsproxy.policy.claimed.MOST_COMPARED", 100)
    monkeypatch.setattr("tsproxy.policy.claimed._may_overlap", lambda *pair: compared.append(pair))
    assert allowed(*(f"match: {{ client_ids: [c{n}] }}" for n in range(60))) == []
    assert len(compared) <= 101


NO_ALLOWANCES = {
    "proven by principal": ("match: { client_ids: [etl], principals: ['User:etl'] }, mode: off",),
    "proven by address": ("match: { client_software: [x/*], addresses: [10.0.0.0/8] }, mode: off",),
    "for all who write to a topic": ("match: { topics: [t] }, mode: off",),
    "stricter": (f"{CLAIM}, {AFTER}: 1s", f"{AFTER}: 10s"),
    "looser than nothing but the topic, which brokers hold": (f"{CLAIM}, {AFTER}: 1h",),
    "others are not looked at": (f"{CLAIM}, mode: off", "mode: off"),
    "of others nothing is rejected": (f"{CLAIM}, zero: accept", "mode: off, zero: reject"),
    "other topics": ("match: { topics: [a], client_ids: [x] }", f"match: {{ topics: [b] }}, {AFTER}: 1s"),
    "as strict": (f"{CLAIM}, {AFTER}: 10s", f"{AFTER}: 10s", f"{AFTER}: 1s"),
}


@pytest.mark.parametrize("rules", NO_ALLOWANCES.values(), ids=NO_ALLOWANCES)
def test_what_is_proven_or_no_looser_is_no_allowance(rules):
    assert allowed(*rules) == []
