"""Rules, waivers and the candidate as a file says them, and what is wrong with one that says them badly."""

from datetime import UTC, datetime
from ipaddress import ip_network

import pytest

from tests.config.files import SMALLEST, config_of, problems_of
from tsproxy.config.settings import ClockProbe, ClockSettings, DeadLetterSettings, WhenBeyond
from tsproxy.config.settings.root import Unproven
from tsproxy.model.policy import Choice, LimitsFrom, Mode, Preset, TimeLimit

FULL = """\
policy:
  mode: audit
  limits_from: stricter
  clock_tolerance: 2s
  name_unit: yes
  defaults:
    message.timestamp.before.max.ms: 7d
    message.timestamp.after.max.ms: 7d
    no_timestamp: reject
  candidate: { preset: none, message.timestamp.after.max.ms: 10m }
  rules:
    - name: payments
      match:
        topics: ["payments-*", "/refunds-[0-9]+/"]
        client_ids: [till]
        principals: ["User:till"]
        addresses: [10.0.0.0/8]
        client_software: ["librdkafka/1.*"]
      mode: enforce
      message.timestamp.after.max.ms: 0ms
      zero: reject
      negative: accept
      extended_timestamps: yes
    - { name: legacy, match: { topics: [legacy] }, preset: kip-937-draft }
  waivers:
    - name: backfill
      match: { principals: ["User:etl"] }
      until: 2026-12-01T00:00:00Z
      owner: data-platform
      reason: "OPS-123"
"""


def policy_of(text):
    return config_of(SMALLEST + text).policy


def test_a_file_without_a_policy_enforces_the_brokers_limits_and_looks_ahead_to_kafka_4():
    policy = policy_of("")
    assert (policy.mode, policy.limits_from) == (Mode.ENFORCE, LimitsFrom.BROKER)
    assert policy.candidate.preset is Preset.KAFKA_4
    assert (policy.rules, policy.waivers) == ((), ())
    assert (policy.defaults.before, policy.defaults.after) == (TimeLimit(None), TimeLimit(3_600_000))


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::/0", "::/0"),
        ("64:ff9b::/96", "64:ff9b::/96"),
    ],
)
def test_a_network_of_mapped_addresses_is_the_ipv4_network_that_clients_are_in(text, network):
    """A client's address is compared as IPv4 on each kind of socket."""
    rules = f"policy: {{ rules: [{{ name: r, mode: off, match: {{ addresses: ['{text}'] }} }}] }}\n"
    assert policy_of(rules).rules[0].match.addresses == (ip_network(network),)


def test_every_key_of_a_full_policy_arrives():
    policy = policy_of(FULL)
    payments, legacy = policy.rules
    [waiver] = policy.waivers

    assert (policy.mode, policy.limits_from) == (Mode.AUDIT, LimitsFrom.STRICTER)
    assert (policy.clock_tolerance_ms, policy.names_unit) == (2_000, True)
    assert policy.defaults.before == policy.defaults.after == TimeLimit(7 * 86_400_000)
    assert policy.defaults.no_timestamp is Choice.REJECT
    assert (policy.candidate.preset, policy.candidate.after) == (None, TimeLimit(600_000))
    assert [pattern.text for pattern in payments.match.topics] == ["payments-*", "/refunds-[0-9]+/"]
    assert [pattern.fits("refunds-17") for pattern in payments.match.topics] == [False, True]
    assert payments.match.addresses == (ip_network("10.0.0.0/8"),)
    assert payments.match.client_software[0].fits("librdkafka/1.8.2")
    assert (payments.settings.mode, payments.settings.before, payments.settings.after) == (
        Mode.ENFORCE,
        None,
        TimeLimit(0),
    )
    assert (payments.settings.zero, payments.settings.negative) == (Choice.REJECT, Choice.ACCEPT)
    assert (payments.settings.extended_timestamps, legacy.settings.extended_timestamps) == (True, None)
    assert payments.place == "tsproxy.yaml:15: policy.rules[0]"
    assert legacy.settings.preset is Preset.KIP_937_DRAFT
    assert (waiver.name, waiver.owner, waiver.reason) == ("backfill", "data-platform", "OPS-123")
    assert waiver.until_ms == datetime(2026, 12, 1, tzinfo=UTC).timestamp() * 1000


def test_the_candidate_can_be_switched_off():
    assert policy_of("policy: { candidate: { preset: none } }\n").candidate is None


BY_ALL = "policy: { defaults: { dead_letters: yes } }\n"


def test_dead_letters_arrive_with_their_bounds():
    config = config_of(SMALLEST + BY_ALL + "dead_letters: { topic: dead }\n")

    assert config.dead_letters == DeadLetterSettings("dead", 64 << 20, 100_000, Unproven.DROP)
    assert config.dead_letters.share(3) == DeadLetterSettings(
        "dead", -(-(64 << 20) // 3), 33_334, Unproven.DROP
    )
    assert config.policy.defaults.dead_letters
    assert config_of(SMALLEST).dead_letters is None


PROBE = "clock: { when_beyond: audit, max_offset: 5s, probe: { topic: time } }\n"


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        (
            BY_ALL + "dead_letters: { topic: both }\ndecisions: { topic: { name: both } }\n",
            "tsproxy.yaml:5: dead_letters.topic: is decisions.topic.name as well; give them a topic each",
        ),
        (
            BY_ALL + "dead_letters: { topic: dead, max_in_flight: 1B }\n",
            "tsproxy.yaml:5: dead_letters.max_in_flight: '1B' is not allowed; must be a size of at least "
            "1MiB, such as 256MiB or 1GiB",
        ),
        (
            PROBE + BY_ALL + "dead_letters: { topic: time }\n",
            "tsproxy.yaml:4: clock.probe.topic: is dead_letters.topic as well; give it a topic of its own",
        ),
        (
            PROBE + "decisions: { topic: { name: time } }\n",
            "tsproxy.yaml:4: clock.probe.topic: is decisions.topic.name as well; give it a topic of its own",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(sections, problem):
    assert problems_of(SMALLEST + sections) == [problem]


def test_the_clock_is_only_watched_unless_the_file_says_more():
    assert config_of(SMALLEST).clock == ClockSettings(1_000, WhenBeyond.AUDIT, None)
    assert config_of(SMALLEST + PROBE).clock == ClockSettings(
        5_000, WhenBeyond.AUDIT, ClockProbe("time", 30_000)
    )


@pytest.mark.parametrize(
    ("written", "patterns"),
    [("shop", ["shop"]), ("' shop '", ["shop"]), ("[' a,b', '/c{1,2}/']", [" a,b", "/c{1,2}/"])],
)
def test_a_pattern_is_one_text_or_stands_in_a_list(written, patterns):
    text = f"policy: {{ rules: [{{ name: a, match: {{ client_ids: {written} }}, mode: off }}] }}\n"
    match = config_of(SMALLEST + text).policy.rules[0].match
    assert [pattern.text for pattern in match.client_ids] == patterns


@pytest.mark.parametrize("text", ["User:CN=etl,*", "User:a,User:b", "/User:a{1,2}/", "/User:a/,*"])
@pytest.mark.parametrize("written", ["'{}'", "'${{A}}'"])
def test_a_pattern_with_a_comma_is_never_read_as_several(text, written):
    """A waiver for the one name `CN=etl,…` would be one for everybody."""
    written = written.format(text)
    match = f"match: {{ principals: {written} }}, until: '2199-01-01T00:00:00Z', owner: o, reason: r"
    assert problems_of(f"{SMALLEST}policy: {{ waivers: [{{ name: w, {match} }}] }}\n", {"A": text}) == [
        f"tsproxy.yaml:4: policy.waivers[0].match.principals: {written} has a comma: write [{written}] if it "
        "is one item, or a list of several"
    ]
