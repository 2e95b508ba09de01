"""The settings of a policy for one topic of one client: which rule, which limits, for how long."""

import re
from dataclasses import replace
from fnmatch import translate
from ipaddress import ip_network

import pytest

from tests.policy.verdicts import DAY_MS, HOUR_MS, NOW_MS
from tsproxy.model.kafka import LONG_MAX, TimestampType
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import (
    DEFAULT_CANDIDATE,
    FAR_BEHIND_MS,
    INTERNAL_TOPICS,
    NO_POLICY,
    SETTINGS,
    TOPIC_LIMITS,
    Choice,
    Inspect,
    LimitsFrom,
    Match,
    Mode,
    NamePattern,
    Policy,
    Preset,
    Rule,
    RuleSettings,
    TimeLimit,
    Waiver,
)
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.resolve import is_internal, resolve

PEER = Peer("public", "10.1.2.3", 40000, "orders-app-7", "User:etl", "librdkafka/1.8.2")
KNOWN = TopicLimits(before_max_ms=DAY_MS, after_max_ms=None, max_message_bytes=1000)
ON_KAFKA_4 = TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS, max_message_bytes=1000)


def named(*texts):
    patterns = []
    for text in texts:
        regex = text[1:-1] if text.startswith("/") else translate(text)
        patterns.append(NamePattern(text, re.compile(regex)))
    return tuple(patterns)


NOTHING = RuleSettings()


def rule(name="own", settings=NOTHING, **match):
    return Rule(name, Match(**match), settings)


def resolved(policy=NO_POLICY, topic="orders", peer=PEER, known=KNOWN, on_kafka_4=ON_KAFKA_4, now_ms=NOW_MS):
    return resolve(policy, peer, topic, known, on_kafka_4, now_ms)


def bounds(limits):
    return limits and (limits.before_max_ms, limits.after_max_ms)


# -- Whom a rule is for -----------------------------------------------------------------------------

FITTING = {
    "nobody in particular": {},
    "a topic": {"topics": named("orders")},
    "a glob": {"topics": named("ord*")},
    "a regular expression": {"topics": named("/ord.rs/")},
    "any of several": {"topics": named("clicks", "orders")},
    "a client id": {"client_ids": named("orders-app-?")},
    "a principal": {"principals": named("User:etl")},
    "a network": {"addresses": (ip_network("10.0.0.0/8"),)},
    "a library": {"client_software": named("librdkafka/1.*")},
    "all of them": {"topics": named("orders"), "principals": named("User:*")},
}
OTHERS = {
    "another topic": {"topics": named("clicks")},
    "a glob must fit the whole name": {"topics": named("rder*")},
    "so must a regular expression": {"topics": named("/order/")},
    "another network": {"addresses": (ip_network("10.2.0.0/16"), ip_network("::/0"))},
    "one of two is not enough": {"topics": named("orders"), "principals": named("User:web")},
}


@pytest.mark.parametrize("name", [*FITTING, *OTHERS])
def test_whom_a_rule_fits(name):
    policy = Policy(rules=(rule(**(FITTING | OTHERS)[name]),))
    assert resolved(policy).rule == ("own" if name in FITTING else TOPIC_LIMITS)


@pytest.mark.parametrize("field", ["client_ids", "principals", "client_software"])
def test_a_rule_for_somebody_is_not_for_a_client_that_does_not_say_who_it_is(field):
    found = resolved(Policy(rules=(rule(**{field: named("*")}),)), peer=Peer("public", "10.1.2.3", 1))
    assert found.rule == TOPIC_LIMITS


@pytest.mark.parametrize("pattern", ["*", "User:*", "/.*/", "/(?!User:mallory).*/", "/.{0}|User:x/"])
def test_no_pattern_fits_a_client_without_a_principal(pattern):
    """So that nothing which is allowed by name is allowed to nobody, by a rule or by a waiver."""
    allowance = Match(principals=named(pattern))
    waiver = Waiver("w", allowance, NOW_MS + 1, "data-platform", "OPS-123")
    policy = Policy(
        rules=(Rule("allowed", allowance, RuleSettings(mode=Mode.OFF)), rule("strict")), waivers=(waiver,)
    )
    found = resolved(policy, peer=Peer("public", "10.1.2.3", 1))
    assert (found.rule, found.mode, found.waiver) == ("strict", Mode.ENFORCE, None)


def test_an_ipv4_client_of_an_ipv6_socket_fits_an_ipv4_network():
    mapped = Peer("public", "::ffff:10.1.2.3", 1)
    assert resolved(Policy(rules=(rule(addresses=(ip_network("10.0.0.0/8"),)),)), peer=mapped).rule == "own"


def test_a_client_without_an_address_is_from_no_network():
    peer = Peer("public", "", 0)
    assert (
        resolved(Policy(rules=(rule(addresses=(ip_network("0.0.0.0/0"),)),)), peer=peer).rule == TOPIC_LIMITS
    )


def test_the_first_rule_that_fits_is_taken():
    rules = (rule("no", topics=named("clicks")), rule("first"), rule("second", topics=named("orders")))
    assert resolved(Policy(rules=rules)).rule == "first"


# -- Internal topics --------------------------------------------------------------------------------

INTERNAL = [
    "__schemas",
    "app-store-changelog",
    "app-agg-repartition",
    "eu.checkpoints.internal",
    "mm2-offset-syncs.eu.internal",
    "eu.heartbeats",
    "heartbeats",
]


@pytest.mark.parametrize("topic", INTERNAL)
def test_internal_topics_are_left_alone(topic):
    found = resolved(Policy(rules=(rule(topics=named("*")),)), topic)
    assert is_internal(topic)
    assert (found.mode, found.rule) == (Mode.OFF, INTERNAL_TOPICS)


@pytest.mark.parametrize(
    ("topic", "pattern"),
    [
        ("app-store-changelog", "app-store-changelog"),
        ("app-store-changelog", "app-*-changelog"),
        ("__consumer_offsets", "__*"),
    ],
)
def test_internal_topics_are_judged_where_a_rule_names_them(topic, pattern):
    found = resolved(Policy(rules=(rule(topics=named(pattern)),)), topic)
    assert (found.mode, found.rule) == (Mode.ENFORCE, "own")


def test_an_ordinary_topic_is_not_internal():
    assert not any(map(is_internal, ["orders", "heartbeats-of-mine", "changelog", "_schemas"]))


# -- Bounds -----------------------------------------------------------------------------------------

LIMITS = {
    "the topic's own": (Policy(), (DAY_MS, None)),
    "the file's, whatever the topic's": (
        Policy(
            limits_from=LimitsFrom.CONFIG, defaults=RuleSettings(before=TimeLimit(None), after=TimeLimit(5))
        ),
        (None, 5),
    ),
    "the stricter of both, side by side": (
        Policy(
            limits_from=LimitsFrom.STRICTER,
            defaults=RuleSettings(before=TimeLimit(2 * DAY_MS), after=TimeLimit(5)),
        ),
        (DAY_MS, 5),
    ),
    "a rule's own side, the other stays": (
        Policy(rules=(rule(settings=RuleSettings(after=TimeLimit(7))),)),
        (DAY_MS, 7),
    ),
    "a rule may be looser": (
        Policy(rules=(rule(settings=RuleSettings(before=TimeLimit(None))),)),
        (None, None),
    ),
    "kafka-4": (Policy(rules=(rule(settings=RuleSettings(preset=Preset.KAFKA_4)),)), (DAY_MS, HOUR_MS)),
    "the draft looks ahead alone": (
        Policy(rules=(rule(settings=RuleSettings(preset=Preset.KIP_937_DRAFT)),)),
        (None, HOUR_MS),
    ),
    "wider by what clocks are apart": (Policy(clock_tolerance_ms=3), (DAY_MS + 3, None)),
    "on both sides": (
        Policy(clock_tolerance_ms=3, rules=(rule(settings=RuleSettings(after=TimeLimit(7))),)),
        (DAY_MS + 3, 10),
    ),
}


@pytest.mark.parametrize(("policy", "expected"), LIMITS.values(), ids=LIMITS)
def test_the_limits_in_force_are(policy, expected):
    assert bounds(resolved(policy).limits) == expected


def test_the_stricter_side_may_be_the_topics_own():
    policy = Policy(limits_from=LimitsFrom.STRICTER, defaults=RuleSettings(after=TimeLimit(7)))
    assert bounds(resolved(policy, known=replace(KNOWN, after_max_ms=5)).limits) == (DAY_MS, 5)


def test_what_else_the_topic_says_stays():
    for settings in (RuleSettings(after=TimeLimit(7)), RuleSettings(preset=Preset.KIP_937_DRAFT)):
        limits = resolved(Policy(rules=(rule(settings=settings),))).limits
        assert limits.max_message_bytes == 1000


AFTER_5, AFTER_7 = RuleSettings(after=TimeLimit(5)), RuleSettings(after=TimeLimit(7))
NOT_KNOWN = {
    "the range is the brokers' business": (Policy(clock_tolerance_ms=3), None, False),
    "the file's side of stricter": (
        Policy(limits_from=LimitsFrom.STRICTER, defaults=AFTER_5, candidate=RuleSettings(after=TimeLimit(1))),
        (None, 5),
        False,
    ),
    "a rule's own bound": (Policy(rules=(rule(settings=AFTER_7),)), (None, 7), False),
    "the draft": (
        Policy(rules=(rule(settings=RuleSettings(preset=Preset.KIP_937_DRAFT)),)),
        (None, HOUR_MS),
        False,
    ),
    "the file needs no broker": (
        Policy(limits_from=LimitsFrom.CONFIG, defaults=AFTER_5),
        (None, 5),
        True,
    ),
}


@pytest.mark.parametrize(("policy", "limits", "is_known"), NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_while_a_topic_is_not_known_these_limits_are_in_force(policy, limits, is_known):
    found = resolved(policy, known=None, on_kafka_4=None)
    assert (bounds(found.limits), found.candidate, found.is_known) == (limits, None, is_known)
    assert policy.asks_broker is not is_known
    if limits is not None:
        assert found.limits.max_message_bytes == 2**31 - 1, "its size is the broker's business"


# -- The candidate ----------------------------------------------------------------------------------

CANDIDATES = {
    "none": (None, None),
    "kafka-4": (RuleSettings(preset=Preset.KAFKA_4), (DAY_MS, HOUR_MS)),
    "one side by name": (RuleSettings(after=TimeLimit(5)), (DAY_MS, 5)),
    "the same is no candidate": (RuleSettings(before=TimeLimit(DAY_MS)), None),
    "a looser one is none either": (RuleSettings(before=TimeLimit(2 * DAY_MS)), None),
}


@pytest.mark.parametrize(("settings", "expected"), CANDIDATES.values(), ids=CANDIDATES)
def test_the_candidate_is(settings, expected):
    assert bounds(resolved(Policy(candidate=settings)).candidate) == expected


def test_where_the_file_says_all_kafka_4_means_an_hour_ahead():
    policy = Policy(
        limits_from=LimitsFrom.CONFIG,
        defaults=RuleSettings(before=TimeLimit(None), after=TimeLimit(None)),
        candidate=RuleSettings(preset=Preset.KAFKA_4),
    )
    assert bounds(resolved(policy, known=None, on_kafka_4=None).candidate) == (FAR_BEHIND_MS, HOUR_MS)


def test_a_preset_looks_ten_years_behind_where_nobody_limits_old_records():
    unlimited = TopicLimits()
    policy = Policy(candidate=RuleSettings(preset=Preset.KAFKA_4))
    found = resolved(policy, known=unlimited, on_kafka_4=TopicLimits(after_max_ms=HOUR_MS))
    assert bounds(found.candidate) == (FAR_BEHIND_MS, HOUR_MS)
    assert bounds(found.limits) == (None, None)


@pytest.mark.parametrize(
    ("own_ms", "before", "expected_ms"),
    [
        (2 * FAR_BEHIND_MS, None, None),
        (None, TimeLimit(None), None),
        (None, TimeLimit(DAY_MS), DAY_MS),
        (None, TimeLimit(2 * FAR_BEHIND_MS), 2 * FAR_BEHIND_MS),
    ],
    ids=["a topic's own longer limit", "switched off", "a shorter one", "a longer one"],
)
def test_whoever_has_said_how_old_records_may_be_is_taken_at_that_word(own_ms, before, expected_ms):
    known = TopicLimits(before_max_ms=own_ms)
    policy = Policy(candidate=RuleSettings(preset=Preset.KAFKA_4, before=before))
    found = resolved(policy, known=known, on_kafka_4=replace(known, after_max_ms=HOUR_MS))
    assert bounds(found.candidate) == (expected_ms or own_ms, HOUR_MS)


def test_a_log_append_time_topic_has_no_candidate_and_no_rejected_values():
    """Brokers write their own time over whatever was sent."""
    stamped = TopicLimits(TimestampType.LOG_APPEND_TIME)
    policy = Policy(
        candidate=RuleSettings(after=TimeLimit(5)), defaults=RuleSettings(no_timestamp=Choice.REJECT)
    )
    found = resolved(policy, known=stamped, on_kafka_4=stamped)
    assert (found.candidate, found.rejects_special_timestamps) == (None, False)


def test_a_limit_that_would_be_wider_than_a_long_is_none():
    """So that no sum with a clock overflows: Kafka's own "unlimited" is Long.MAX."""
    widest = TopicLimits(before_max_ms=LONG_MAX - 2, after_max_ms=LONG_MAX - 3)
    policy = Policy(clock_tolerance_ms=2)
    assert bounds(resolved(policy, known=widest, on_kafka_4=widest).limits) == (None, LONG_MAX - 1)


# -- Modes and waivers ------------------------------------------------------------------------------


def test_a_rules_mode_goes_before_the_general_one():
    policy = Policy(
        mode=Mode.OFF, rules=(rule(settings=RuleSettings(mode=Mode.AUDIT), topics=named("orders")),)
    )
    assert (resolved(policy).mode, resolved(policy, "clicks").mode) == (Mode.AUDIT, Mode.OFF)
    assert not policy.is_off


def test_off_means_nothing_is_judged_not_even_beside():
    found = resolved(Policy(mode=Mode.OFF, candidate=RuleSettings(after=TimeLimit(0))))
    assert (found.mode, found.candidate) == (Mode.OFF, None)


WAIVER = Waiver("backfill", Match(principals=named("User:etl")), NOW_MS + 1, "data-platform", "OPS-123")


def test_a_waiver_turns_enforcing_into_counting_until_it_ends():
    policy = Policy(waivers=(WAIVER,))
    waived, after = resolved(policy), resolved(policy, now_ms=NOW_MS + 1)
    assert (waived.mode, waived.waiver, waived.until_ms) == (Mode.AUDIT, "backfill", NOW_MS + 1)
    assert (after.mode, after.waiver, after.until_ms) == (Mode.ENFORCE, None, None)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "custom_rules"])
def test_the_defaults_give_each_setting_that_the_rule_leaves_out_and_no_other(name):
    """`custom_rules` is no default: only a rule names one."""
    own, default = RuleSettings(**{name: object()}), RuleSettings(**{name: object()})
    other = rule("other", topics=named("clicks"))
    for rules, expected in (
        ((rule(settings=own),), own),
        ((rule(settings=NOTHING),), default),
        ((other,), default),
        ((), default),
    ):
        found = resolved(Policy(defaults=default, rules=rules))
        assert getattr(found, name) is getattr(expected, name)


@pytest.mark.parametrize("name", ["dead_letters", "extended_timestamps", "inspect_compressed"])
def test_where_brokers_write_their_own_times_these_settings_hold_nevertheless(name):
    settings, stamped = RuleSettings(**{name: object()}), TopicLimits(TimestampType.LOG_APPEND_TIME)
    for policy in (Policy(rules=(rule(settings=settings),)), Policy(defaults=settings)):
        assert getattr(resolved(policy, known=stamped), name) is getattr(settings, name)


LOOSER, STRICTER = TimeLimit(10 * DAY_MS), TimeLimit(1)


@pytest.mark.parametrize(
    ("policy", "known", "inspected"),
    [
        (Policy(), KNOWN, Inspect.AUTO),
        (Policy(candidate=DEFAULT_CANDIDATE), KNOWN, Inspect.AUTO),
        (Policy(clock_tolerance_ms=5), KNOWN, Inspect.AUTO),
        (Policy(rules=(rule(settings=RuleSettings(before=TimeLimit(None))),)), KNOWN, Inspect.AUTO),
        (Policy(mode=Mode.AUDIT), KNOWN, Inspect.AUTO),
        (Policy(), replace(KNOWN, timestamp_type=TimestampType.LOG_APPEND_TIME), Inspect.AUTO),
        # the proxy alone would say it
        (Policy(rules=(rule(settings=RuleSettings(before=LOOSER)),)), KNOWN, Inspect.ALL),
        (Policy(rules=(rule(settings=RuleSettings(after=STRICTER)),)), KNOWN, Inspect.ALL),
        (Policy(rules=(rule(settings=RuleSettings(before=STRICTER)),)), KNOWN, Inspect.ALL),
        (Policy(mode=Mode.AUDIT, rules=(rule(settings=RuleSettings(before=STRICTER)),)), KNOWN, Inspect.ALL),
        (
            Policy(rules=(rule(settings=RuleSettings(preset=Preset.KAFKA_4)),)),
            replace(KNOWN, before_max_ms=None, after_max_ms=None),
            Inspect.ALL,
        ),
        (
            Policy(limits_from=LimitsFrom.STRICTER, defaults=RuleSettings(before=STRICTER)),
            KNOWN,
            Inspect.ALL,
        ),
        (Policy(limits_from=LimitsFrom.CONFIG), None, Inspect.ALL),
        (Policy(candidate=RuleSettings(after=STRICTER)), KNOWN, Inspect.ALL),
        (Policy(names_unit=True), KNOWN, Inspect.ALL),
        (Policy(help="https://wiki.example.com"), KNOWN, Inspect.ALL),
        (
            Policy(rules=(rule(settings=RuleSettings(preset=Preset.KIP_937_DRAFT)),)),
            replace(KNOWN, after_max_ms=HOUR_MS),
            Inspect.ALL,
        ),
        (Policy(), None, Inspect.ALL),
    ],
)
def test_auto_reads_every_batch_unless_the_broker_rejects_all_that_the_proxy_would(policy, known, inspected):
    assert resolved(policy, known=known).inspect_compressed is inspected
